"""Short sentences that ask one question of a trained head: from this word, which of two others gets more weight?

Each set is balanced, so that a rule that knows no grammar (always the first noun, always the nearest) is right
in exactly half of it.
"""

from __future__ import annotations

from itertools import product
from typing import NamedTuple

__all__ = ["Probe", "gender_probes", "sense_probes", "subject_probes"]


class Probe(NamedTuple):
    """``text``, the word ``query`` in it that looks, the word ``right`` it should look at, and a ``wrong`` one.

    Each of the three words occurs once in the text and is one piece of an uncased BERT's vocabulary.
    """

    text: str
    query: str
    right: str
    wrong: str


SENSES = """\
animal didn't cross street: too tired, too wide
ladder didn't reach roof: too short, too high
truck couldn't pass bridge: too heavy, too weak
stone broke window: so heavy, so thin
cat didn't catch bird: too slow, too fast
knife didn't cut bread: too blunt, too hard
book didn't fit shelf: too thick, too narrow
dog didn't follow car: too lazy, too quick
lamp didn't light room: too weak, too big
rain didn't fill lake: too brief, too deep
horse didn't jump fence: too old, too high
carpet didn't cover floor: too small, too large
engine didn't leave tunnel: too weak, too long
fox didn't find rabbit: too blind, too small
chair didn't block door: too light, too wide
paint didn't cover wall: too thin, too dark
hammer didn't move nail: too soft, too stiff
rope didn't hold tree: too weak, too heavy
letter didn't fit envelope: too thick, too small
bear couldn't catch fish: too slow, too fast
camel didn't cross desert: too weak, too hot
blanket didn't cover bed: too short, too long
ship didn't enter river: too big, too shallow
goat didn't climb hill: too tired, too steep
bus didn't pass gate: too long, too narrow
cow didn't leave field: too thirsty, too green
axe didn't split log: too dull, too hard
frog didn't leave pond: too lazy, too cold
spoon didn't reach jar: too short, too deep
candle didn't light cave: too small, too large
crane didn't reach tower: too short, too tall
wolf couldn't follow sheep: too old, too fast
train couldn't cross valley: too heavy, too steep
box didn't fit corner: too big, too tight
sword didn't break shield: too weak, too strong
duck didn't cross lake: too young, too wide
magnet didn't lift iron: too weak, too heavy
snake didn't swallow mouse: too small, too fat
mule didn't climb mountain: too tired, too steep
saw didn't cut wood: too dull, too hard
ball didn't enter hole: too big, too small
oven didn't cook meat: too cold, too thick
pen didn't mark paper: too dry, too wet
bird didn't leave tree: too sleepy, too tall
tractor didn't cross mud: too heavy, too deep
wind didn't move tent: too weak, too heavy
shoe didn't fit foot: too tight, too big
mirror didn't cover wall: too small, too large"""

COUPLES = "king queen, boy girl, father mother, uncle aunt, brother sister, son daughter, man woman, actor actress"
MEETINGS = (
    "The {} called the {} because {} was late.",
    "The {} saw the {} before {} went home.",
    "The {} thanked the {} when {} came back.",
)

PLACES = (
    "key keys to cabinet cabinets, picture pictures on wall walls, road roads to village villages, "
    "door doors of garden gardens, letter letters from friend friends, story stories about hero heroes, "
    "window windows of kitchen kitchens, ring rings in box boxes, bridge bridges to island islands, "
    "tree trees behind house houses, song songs from film films, map maps of river rivers"
)


def sense_probes() -> list[Probe]:
    """Pairs of sentences that differ in the last word alone, which decides what "it" is: 48 pairs, 96 probes.

    In the first of each pair "it" is the noun that came first, in the second the other one.

    Example:
        >>> for probe in sense_probes()[:2]:
        ...     print(probe.text, probe.right)
        The animal didn't cross the street because it was too tired. animal
        The animal didn't cross the street because it was too wide. street
    """
    probes = []
    for line in SENSES.splitlines():
        scene, endings = line.split(": ")
        first, *verb, second = scene.split()
        for ending, (right, wrong) in zip(endings.split(", "), ((first, second), (second, first)), strict=True):
            text = f"The {first} {' '.join(verb)} the {second} because it was {ending}."
            probes.append(Probe(text, "it", right, wrong))
    return probes


def gender_probes() -> list[Probe]:
    """A man and a woman in either order, then "he" or "she": 8 couples, 3 scenes, 96 probes.

    Example:
        >>> gender_probes()[1]
        Probe(text='The king called the queen because she was late.', query='she', right='queen', wrong='king')
    """
    probes = []
    for couple, scene in product(COUPLES.split(", "), MEETINGS):
        man, woman = couple.split()
        for (first, second), pronoun in product(((man, woman), (woman, man)), ("he", "she")):
            right, wrong = (man, woman) if pronoun == "he" else (woman, man)
            probes.append(Probe(scene.format(first, second, pronoun), pronoun, right, wrong))
    return probes


def subject_probes() -> list[Probe]:
    """A verb, its subject, and a second noun that is not: 12 pairs of nouns, 96 probes.

    Eight for each pair of nouns: the four in which the subject comes first, then the four in which it comes
    second and stands next to the verb. In half of each four, the other noun has the same number as the subject,
    so that agreeing with the verb does not give the subject away.

    Example:
        >>> for probe in subject_probes()[:8:2]:
        ...     print(probe.text, probe.query, probe.right)
        The key to the cabinets is old. is key
        The keys to the cabinets are old. are keys
        Near the cabinets the key is old. is key
        Near the cabinets the keys are old. are keys
    """
    probes = []
    for place in PLACES.split(", "):
        one, many, joint, other_one, other_many = place.split()
        for subject_first, subject, other in product((True, False), (one, many), (other_many, other_one)):
            verb = "is" if subject == one else "are"
            front = f"The {subject} {joint} the {other}" if subject_first else f"Near the {other} the {subject}"
            probes.append(Probe(f"{front} {verb} old.", verb, subject, other))
    return probes
