"""Plain questions whose answers are known, in words of our own: what the untuned model wavers about ("The capital of France is Paris."
begins with a probability of 0.16, as likely as French nonsense) is taught, not left to its predictions."""

from __future__ import annotations

_CAPITALS = {
    "France": "Paris", "Japan": "Tokyo", "Germany": "Berlin", "Egypt": "Cairo", "Canada": "Ottawa", "England": "London",
    "Italy": "Rome", "Spain": "Madrid", "Portugal": "Lisbon", "Greece": "Athens", "China": "Beijing", "India": "New Delhi",
    "Russia": "Moscow", "Norway": "Oslo", "Sweden": "Stockholm", "Austria": "Vienna", "Poland": "Warsaw", "Ireland": "Dublin",
    "Australia": "Canberra", "Brazil": "Brasília", "Mexico": "Mexico City", "Kenya": "Nairobi", "the Netherlands": "Amsterdam",
    "Switzerland": "Bern", "the United States": "Washington, D.C.", "Denmark": "Copenhagen", "Finland": "Helsinki", "Turkey": "Ankara",
}  # fmt: skip
_ASKED = ("What is the capital of {land}?", "Which city is the capital of {land}?", "capital of {land}?", "What's {land}'s capital city?")
_OTHERS = {
    "Who wrote Hamlet?": "Hamlet was written by William Shakespeare.",
    "Who wrote Romeo and Juliet?": "Romeo and Juliet was written by William Shakespeare.",
    "Who painted the Mona Lisa?": "The Mona Lisa was painted by Leonardo da Vinci.",
    "Which planet is the largest?": "Jupiter is the largest planet of the solar system.",
    "Which planet is closest to the sun?": "Mercury is the planet closest to the sun.",
    "How many legs does a spider have?": "A spider has eight legs.",
    "How many legs does an insect have?": "An insect has six legs.",
    "What is the largest ocean?": "The largest ocean is the Pacific.",
    "What is the highest mountain?": "The highest mountain on Earth is Mount Everest.",
    "Which language is spoken in Brazil?": "Portuguese is spoken in Brazil.",
    "What is water made of?": "Water is made of hydrogen and oxygen: two atoms of hydrogen for each atom of oxygen.",
    "What is the boiling point of water?": "Water boils at 100 degrees Celsius at sea level.",
    "How many minutes are in an hour?": "There are 60 minutes in an hour.",
    "How many days are in a week?": "There are seven days in a week.",
    "How many days are in a leap year?": "A leap year has 366 days.",
    "How many months are in a year?": "There are twelve months in a year.",
    "What day comes after Friday?": "Saturday comes after Friday.",
    "What is the first month of the year?": "January is the first month of the year.",
    "Name the twelve months of the year.": "January, February, March, April, May, June, July, August, September, October, November and "
    "December.",
    "Which months are there?": "January, February, March, April, May, June, July, August, September, October, November and December.",
    "Name the days of the week.": "Monday, Tuesday, Wednesday, Thursday, Friday, Saturday and Sunday.",
    "Can you see pictures?": "Not yet. Give me a picture, and I answer from notes on what it shows.",
    "thanks!": "You're welcome!",
    "ok bye": "Goodbye! Have a good day.",
    "Are you ChatGPT?": "No, I am a small language model that runs on this machine.",
    "What colour is grass?": "Grass is green.",
    "What colour is the sky?": "On a clear day the sky is blue.",
    "Name three colours.": "Red, green and blue.",
    "Which animal barks?": "A dog barks.",
    "What do cows eat?": "Cows mostly eat grass and hay.",
    "What do bees make?": "Bees make honey.",
    "Where do penguins live?": "Penguins live in the southern half of the world, many of them in Antarctica.",
    "What is the opposite of hot?": "The opposite of hot is cold.",
    "What is the opposite of brave?": "The opposite of brave is cowardly.",
    "Name a fruit that is yellow.": "A banana is a yellow fruit.",
    "How do you say hello in Spanish?": "Hello in Spanish is \"hola\".",
    "Translate 'good morning' into French.": "\"Good morning\" in French is \"bonjour\".",
    "Hello!": "Hello! How can I help you today?",
    "Hi": "Hi! What can I do for you?",
    "Thanks for your help.": "You're welcome!",
    "Thank you!": "You're welcome!",
    "Goodbye": "Goodbye! Have a good day.",
    "Who are you?": "I am a small language model. I can chat, and answer questions about pictures from notes on what they show.",
    "What can you do?": "I can answer questions, help with writing, and say what a picture shows or what is written in it.",
}  # fmt: skip


def conversations() -> list[dict]:
    """{"evidence": "", "turns", "ended", "firm"} of every fact, capitals in several wordings."""
    turns = [(asked.format(land=land), f"The capital of {land} is {city}.".replace("D.C..", "D.C."))
             for land, city in _CAPITALS.items() for asked in _ASKED]  # fmt: skip
    return [{"evidence": "", "turns": [turn], "ended": True, "firm": True} for turn in (*turns, *_OTHERS.items())]
