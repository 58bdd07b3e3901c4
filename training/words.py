"""Word lists of our own, in two halves: what training pictures say and what held-out pictures say never overlap."""

from __future__ import annotations

import random
from functools import lru_cache

_TRAIN = {
    "goods": "Apples, Whole milk, Rye bread, Cheddar, Tomatoes, Orange juice, Dark chocolate, Butter, Eggs, "
    "Bananas, Rice, Carrots, Toothpaste, Shampoo, Batteries, Notebook, Green tea, Olive oil, Pasta, "
    "Honey, Potatoes, Cookies, Water 1.5 l, Soap, Paper towels, Yoghurt, Salmon fillet, Lettuce, Flour 1 "
    "kg, Ham, Light bulb, Candles",
    "dishes": "Tomato soup, Garlic bread, Greek salad, Grilled salmon, Mushroom risotto, Chicken curry, Lemon tart, "
    "Chocolate cake, Fish and chips, Caesar salad, Beef burger, Veggie wrap, Pancakes, Apple pie, Ice "
    "cream, Espresso, Cappuccino, Iced tea, Club sandwich, Lasagne, Onion rings, Fruit salad, Spring "
    "rolls, Ramen, Hot chocolate, Lemonade, Omelette, Bean stew, Roast duck, Waffles",
    "shops": "Green Leaf Market, Corner Store, Harbour Foods, Sunny Bakery, City Hardware, Book Nook, Fresh & "
    "Fast, Oak Street Deli, Blue Door Shop, Miller & Sons, The Tea House, Pet Planet, Garden World, Quick "
    "Stop",
    "restaurants": "The Olive Tree, Blue Lagoon, Mama Rosa, Old Mill Inn, Cafe Central, Golden Fork, River View, Spice "
    "Route, The Red Lion, Bistro Paul, Sakura House, Corner Cafe",
    "streets": "Harbour Street, Maple Avenue, Station Road, King Street, Park Lane, Mill Road, High Street, Bridge "
    "Road",
    "towns": "Brighton, Oxford, Leeds, Dublin, Boston, Denver, Perth, Cardiff, York, Austin, Halifax, Dover",
    "names": "Anna, Ben, Clara, David, Emma, Frank, Grace, Henry, Ivy, Jack, Karen, Leo, Maria, Noah, Olivia, Peter",
    "surnames": "Smith, Jones, Brown, Taylor, Evans, Walker, Wright, Clark, Hall, Green, Baker, Adams",
    "products": "Chairs, Tables, Lamps, Desks, Sofas, Shelves, Clocks, Mirrors, Rugs, Beds",
    "regions": "North, South, East, West, Centre, Coast, Islands, Valley",
    "causes": "Rent, Food, Travel, Savings, Clothes, Fun, Health, Books, Gifts, Energy, Insurance, Phone",
    "sports": "Football, Tennis, Swimming, Running, Cycling, Chess, Golf, Hockey, Skiing, Boxing",
    "measures": "Sales, Visitors, Profit, Output, Orders, Rainfall, Members, Exports, Users, Tickets",
    "events": "Summer Concert, Book Fair, Open Day, Spring Market, Film Night, Charity Run, Dance Class, Art Show, "
    "Jazz Evening, Science Week, Garden Party, Quiz Night",
    "venues": "Town Hall, City Park, Main Library, Rose Garden, Old Theatre, Sports Hall, Room 12, Market Square",
    "signs": "No parking, Exit, Push, Pull, Wet floor, Keep left, Staff only, Please queue here, No smoking, Slow "
    "down, Mind the step, Closed on Sundays, Private property, Danger high voltage, Beware of the dog, "
    "Ring the bell",
    "slogans": "Thank you, Please come again, Everyone welcome, Free entry, Bring a friend, All ages, Limited seats",
}
_HELD = {
    "goods": "Pears, Oat milk, Baguette, Gouda, Cucumber, Apple juice, Peanut butter, Cream, Mussels, Grapes, "
    "Couscous, Onions, Hand cream, Hair brush, Adapter, Pencil case, Black tea, Vinegar, Noodles, Maple "
    "syrup, Sponge",
    "dishes": "Pumpkin soup, Bruschetta, Nicoise salad, Baked cod, Spinach ravioli, Lamb kebab, Cherry crumble, "
    "Cheesecake, Tuna melt, Falafel bowl, Pulled pork, Shrimp tacos, Panna cotta, Sorbet, Flat white, "
    "Ginger ale",
    "shops": "Hilltop Grocery, Maison Vert, Nordic Corner, Daily Needs, Paper Lantern, Seaside Pharmacy, Tool Barn",
    "restaurants": "Casa Verde, The Copper Pot, Lotus Garden, Pier 21, Chez Louise, The Hungry Owl",
    "streets": "Castle Street, Willow Drive, Church Lane, Canal Road, Orchard Way",
    "towns": "Bristol, Seattle, Galway, Toronto, Bath, Norwich",
    "names": "Alice, Bruno, Carmen, Dylan, Elena, Felix, Hanna, Isaac, Julia, Kevin, Lydia, Marco",
    "surnames": "Turner, Cooper, Morgan, Fisher, Bailey, Murphy",
    "products": "Bicycles, Helmets, Tents, Kayaks, Boots, Ropes, Stoves",
    "regions": "Alpine, Lowland, Harbour, Upland, Delta, Prairie",
    "causes": "Housing, Groceries, Transport, Leisure, Pets, Taxes, School, Repairs",
    "sports": "Rowing, Judo, Fencing, Climbing, Sailing, Archery, Surfing",
    "measures": "Revenue, Bookings, Downloads, Harvest, Deliveries, Attendance",
    "events": "Winter Gala, Poetry Slam, Craft Fair, Lantern Parade, Robot Workshop, Choir Night",
    "venues": "Harbour Pavilion, North Gym, Glass House, Studio 7, Museum Court",
    "signs": "Way out, No swimming, Low ceiling, Deliveries at rear, Hard hats required, Lift out of order, Quiet "
    "zone, Do not feed the birds, Cyclists dismount, Toilets upstairs",
    "slogans": "See you soon, Tickets at the door, Children half price, Rain or shine, Refreshments included",
}
MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
          "December")  # fmt: skip
DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
"""The calendar is the one thing that both halves share."""
SPLITS = ("train", "held")


def lists(split: str) -> dict[str, list[str]]:
    """Word lists of "train" or "held" by topic. Raises ValueError for another split."""
    if split not in SPLITS:
        raise ValueError(f"split must be one of {', '.join(SPLITS)}, got {split!r}")
    chosen = _TRAIN if split == "train" else _HELD
    return {topic: [" ".join(word.split()) for word in words.split(",")] for topic, words in chosen.items()}


@lru_cache(maxsize=1)
def _plain_names() -> tuple[str, ...]:
    """Names of ImageNet classes that the training half of the photos uses, without the words of the held-out lists."""
    from recap.targets.builtin.front_end import class_names

    held = {word.lower() for words in lists("held").values() for name in words for word in name.split()}
    names = [name for number, name in enumerate(class_names()) if number % 5]
    return tuple(name for name in names if not held & {*name.lower().split()} and len(name) < 24)


_BEGIN = (
    "Ar Bel Cor Da El Fen Gar Hol Is Jor Kel Lo Mar Nor Os Pel Qui Ran Sol Tam Ul Ver Wil Yar Zan Bro Cla Dri Fre Gri "
    "Pla Sto Tre"
).split()
_MIDDLE = "a e i o u an en ir ol am ev ist ond el er al ing ev ud am ax".split()
_END = "by ton ville mond sen ra na to dex ley ford wick lin ska mar tis burg den ka rin dale via po nix".split()


def varied(words: dict[str, list[str]], rng: random.Random) -> dict[str, list[str]]:
    """The lists with names that no list holds, plain and invented ones: a reader that has met thirty goods learns
    thirty goods, one that meets thousands learns to copy."""

    def invented() -> str:
        return rng.choice(_BEGIN) + rng.choice(_MIDDLE) * (rng.random() < 0.6) + rng.choice(_END)

    def plain() -> str:
        name = rng.choice(_plain_names())
        return name[0].upper() + name[1:]

    def several(make, most: int = 16) -> list[str]:
        return list(dict.fromkeys(make() for _ in range(most)))

    def two() -> str:
        kinds = ("Market", "House", "Corner", "Fair", "Club", "Room", "Place", "Days", "Evening", "Hall")
        return f"{rng.choice((plain, invented))()} {rng.choice(kinds)}"

    made = {topic: several(plain) for topic in ("goods", "dishes", "products", "causes")}
    made |= {topic: several(invented) for topic in ("regions", "names", "surnames", "towns", "sports")}
    made |= {topic: several(two) for topic in ("shops", "restaurants", "events", "venues")}
    made["measures"] = several(lambda: rng.choice((plain, invented))().split()[-1].capitalize())
    made["streets"] = several(lambda: f"{invented()} {rng.choice(('Street', 'Road', 'Lane', 'Square'))}")
    made["signs"] = several(
        lambda: f"{plain()} {rng.choice(('ahead', 'only', 'for sale', 'closed', 'this way', 'not allowed'))}"
    )
    return words | {topic: names for topic, names in made.items() if rng.random() < 0.8}
