"""Plain words in which people ask for what a picture holds: lists only, shared by what finds it and what misses it."""

from __future__ import annotations

import re

_WORD = re.compile(r"[^\W_]+(?:(?:[.'’@-]|(?<=\d):(?=\d))[^\W_]+)*")
CALENDAR = frozenset(
    "january february march april june july august september october november december monday tuesday wednesday "
    "thursday friday saturday sunday".split()
)

def words_of(text: str) -> set[str]:
    """The words of a text, small, without plural endings."""
    return {stem(word) for word in _WORD.findall(text.lower())}


def stem(word: str) -> str:
    """Without the ending of a plural or a genitive, as spelled in Britain, months and days by three letters."""
    if word in CALENDAR:
        return word[:3]
    word = word.removesuffix("'s").removesuffix("’s").replace("color", "colour")
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 4 and word.endswith(("shes", "ches", "xes", "sses")):
        return word[:-2]
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word


COMMON = frozenset(
    "a about all am an and any are as at be by can could did do does for from get give given had has have he her here "
    "his how i if in is it its line list look many me more most much my name no not number of on one or our out over "
    "per picture please say says see she show sure tell than thanks that the their them then there these they thing "
    "things this those to up us was we were what when where which who whose why will with word words would write "
    "written yes you your".split()
)
"""Words that name nothing by themselves."""
HIGH = tuple(
    "largest biggest highest greatest most maximum max leader leading winner winning tallest best strongest "
    "peak longest dominate".split()
) + ("top one", "on top", "come first", "rank first", "first place", "top category", "lead", "number one",
     "ahead rest", "ahead other", "beat", "top ranking", "bigger other", "higher other", "more other",
     "above rest", "nothing higher", "nobody higher")  # fmt: skip
LOW = tuple(
    "smallest lowest least fewest minimum min bottom worst shortest weakest tiniest lightest poorest littlest rarest loser "
    "trail".split()
) + ("end ranking", "behind rest", "behind other", "smaller other", "lower other", "shorter every", "beaten other",
     "nothing lower", "nobody lower")  # fmt: skip
SECOND = ("second", "runner", "runner-up")
DEAR = ("most expensive", "expensive", "dearest", "costliest", "priciest", "highest price", "cost most", "most money",
        "highest priced", "top priced", "most costly", "most on", "most for", "pay most", "spend most", "spent most",
        "more than any", "more other", "nothing more", "pricier rest", "pricier other",
        "dearer rest", "dearer other", "biggest expense", "biggest spend",
        "largest amount", "up the most")  # fmt: skip
CHEAP = ("least expensive", "cheapest", "lowest price", "cost least", "least money", "lowest priced", "save", "cheap",
         "bargain", "affordable", "cheaper rest", "cheaper other", "nothing cheaper", "least costly",
         "least on", "least for", "least dear", "pay least",
         "spend least", "spent least", "pay little", "less than any", "less other", "smallest expense", "smallest spend",
         "smallest amount", "least to", "budget")  # fmt: skip
TOTAL = (
    "total",
    "sum",
    "bill",
    "due",
    "owe",
    "owed",
    "paid",
    "pay",
    "spent",
    "spend",
    "everything",
    "altogether",
    "amount",
    "damage",
    "overall",
    "wallet",
    "come to",
    "in all",
    "what cost",
)
ALL_TOGETHER = ("total", "sum", "altogether", "combined", "everything", "add")
CHANGE = ("change", "back")
ABOUT = (*"represent theme subject labelled titled topic concern call name looking supposed".split(), "what about",
         "chart of", "about chart", "about graph")  # fmt: skip
"""How people ask for the title of a chart, where nothing else is meant."""
TITLE = ("title", "heading", "headline", "caption", "called", "topic", "header")
OBJECT = (
    *"object animal thing subject identify describe recognise recognize vehicle food plant building fruit creature item "
    "photo picture image pic photograph photographed shot pictured depict depicted caption description summary summarise "
    "guess call called familiar label seeing scene".split(),
    "what is this", "what is it", "what is that", "what this is", "what it is", "what this one", "what do you see",
    "what you see", "what can see", "what can be seen", "what kind", "what in it", "what in here", "what on here",
    "what got here", "what here", "what shown", "name it", "name this", "name to this", "name of this", "this look",
    "what this could", "what this might", "what could this", "looking at", "looks like", "look like", "sum up",
)  # fmt: skip
OBJECT_IN_WORDS = ("one word", "few words", "into words")
"""How the words are meant that the answer should have, not those of the picture."""
FIRST_LINE = (*TITLE, "first", "top", "begin", "start", "biggest", "largest", "big", "large", "event", "form",
              *"opening topmost uppermost beginning above head titled headed advertising upper".split(), "line one", "highest line")
SELLER = (
    *"shop store seller market sold issued restaurant cafe menu business company place purchase merchant "
    "establishment vendor firm outlet".split(),
    "where buy", "where bought", "bought at", "bought from", "where got", "where eat", "where shopping", "from where",
    "receipt by", "where come",
)  # fmt: skip
LAST_LINE = ("last", "bottom", "end", "final")
DATE = ("date", "day", "when", "dated")
TIME = ("time", "hour", "clock", "o'clock", "start", "begin")
ROWS = ("individual", "item", "row", "entry", "line", "people", "person", "name", "record")
ITEMS = ("entry", "purchase", "position", "option", "choice", "item", "thing", "product", "dish", "article", "price", "meal")
ASKED_FOR = {
    "text": ("text", "written", "printed", "read", "writing", "transcribe", "transcript", "ocr", "wording"),
    "price": ("price", "cost", "expensive", "fee", "pay", "charge"),
    "time": ("time", "hour", "clock", "o'clock"),
    "date": ("date", "day", "month", "year", "when"),
}
"""What a picture as a whole may lack, and the words that ask for it."""
NO_OBJECT = frozenset(
    "black white grey brown beige olive red orange yellow green teal blue purple pink big pixel "
    "colour time day date size month year text written printed price cost many much number word read transcribe "
    "transcript wording ocr copy type sign slogan quote letter language".split()
)
"""Words of questions that ask for something else than what the picture shows."""
NO_TOTAL = frozenset("tip tax vat cash card change discount service deposit back".split())
"""Words of questions about money that ask for something else than the total."""
FIELDS = (
    ("phone", "telephone", "tel", "mobile", "cell"), ("email", "e-mail"), ("city", "town"),
    ("signature", "signed"), ("address", "street"), ("nationality",), ("birthday", "birth", "born", "dob"),
    ("course",), ("age",), ("gender", "sex"), ("job", "occupation", "profession"), ("country",),
    ("postcode", "zip"),
    ("surname",), ("membership",), ("date", "day"),
)  # fmt: skip
"""What forms ask for; words of a group mean the same."""
GENERAL = words_of(
    " ".join((*HIGH, *LOW, *SECOND, *DEAR, *CHEAP, *TOTAL, *ALL_TOGETHER, *TITLE, *FIRST_LINE, *SELLER, *LAST_LINE))
) | frozenset(
    "english french german spanish italian chinese japanese json markdown html csv euro euros dollar dollars pounds "
    "text title heading headline image photo photograph chart graph diagram bar slice point column table cell page "
    "item dish total bill sum change cash card tax vat tip receipt menu form sign poster price cost fee colour color "
    "main size width height date day time hour place location venue address event shop store restaurant seller kind "
    "type first last second third largest biggest highest greatest smallest lowest least fewest cheapest dearest "
    "expensive everything whole entire every each both other next end top bottom left right middle edge corner "
    "beginning value figure amount average percentage percent share unit axis label category series legend order "
    "ranking rank anything something nothing somebody anybody someone anyone owner ticket entry admission overall "
    "altogether together all them winner leader difference trend question answer same that this it letter letters row "
    "line object background foreground info information detail details content contents data list listing options "
    "choice choices offer field entries entered filled said stated mentioned shown listed written printed visible "
    "possible true correct wrong hello hi hey thanks thank ok okay really sure bye paid given back maximum minimum "
    "max min side measured compared common mostly rest begin develop cover rise fall enter add more less better worse "
    "older younger larger smaller higher lower cheaper dearer taller shorter ahead behind champion runner-up front "
    "long short big small much many few lot lots kilo piece pieces meal drink drinks food starter starters dessert "
    "desserts mains party concert show ones one two three four five six seven eight nine ten "
    "description transcript transcription wording version copy compare comparison loser article exact full complete low "
    "bigger pricier dearer everybody everyone meeting announced purchased bought ordered offered served summary overview "
    "caption sentence people verbatim starting fruit vegetable veg meat fish cheese dairy alcohol seafood sweet snack pasta soup "
    "salad vegan vegetarian furniture sport country month weekday".split()
)
"""Words that ask about a picture in general: that they are not printed in it means nothing."""
