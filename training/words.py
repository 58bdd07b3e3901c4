"""Word lists of our own, in two halves: what training pictures say and what held-out pictures say never overlap."""

from __future__ import annotations

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
