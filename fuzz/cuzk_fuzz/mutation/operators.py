"""Mutation operators: small faults in the text of a kernel header.

An operator looks at code only: comments, strings, preprocessor lines, template heads, static assertions and
operation counts are blanked first.  Whether a mutant compiles, and whether it differs from the original, is found out
later, by compiling.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Mutant:
    """One change in one line.

    Attributes:
        header: File name.
        line: Line number, from 1.
        operator: Which kind of fault.
        start, end: The replaced characters of the line.
        text: What replaces them.
        original: The whole line before.
        above: The line of code above it.
    """

    header: str
    line: int
    operator: str
    start: int
    end: int
    text: str
    original: str
    above: str = ""

    @property
    def mutated(self) -> str:
        """The whole line after."""
        return self.original[: self.start] + self.text + self.original[self.end :]

    @property
    def name(self) -> str:
        """Short and unique within a version of the header."""
        return f"{self.header}:{self.line}:{self.start}:{self.operator}:{self.text.strip() or 'gone'}"

    def apply(self, source: str) -> str:
        """The header's text with the fault in it."""
        lines = source.split("\n")
        if lines[self.line - 1] != self.original:
            raise ValueError(f"{self.name} is not a mutant of this text")
        lines[self.line - 1] = self.mutated
        return "\n".join(lines)


#: Faults of threads, as against those of arithmetic.
GPU_OPERATORS = ("barrier", "plain_add", "thread", "shuffle", "warp", "index")
#: Operators that came after the tests: their score says how the tests do on what they were not written against.
HELD_OUT = ("shuffle", "warp")

#: What is no code to mutate, blanked in this order.
_NO_CODE = (
    re.compile(r"//[^\n]*"),
    re.compile(r"/\*.*?\*/", re.DOTALL),
    re.compile(r'"(?:\\.|[^"\\\n])*"'),
    re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.MULTILINE),
    re.compile(
        r"template <[^;{}()\n]*>(?= (?:struct|class|using|inline|constexpr|CUZK|static|\[\[))|template <[^\n]*>$",
        re.MULTILINE,
    ),
    re.compile(r"static_assert\([^;]*;"),
    re.compile(r"if constexpr \([^;]*\) CUZK_COUNT\([^;]*;"),
    re.compile(r"CUZK_(?:COUNT|UNROLL|NO_UNROLL)\b(?:\([^)]*\))?|count_field<[^;()]*>\([^;]*;"),
    re.compile(r"^[ \t]*using [^;]*;", re.MULTILINE),
)  # fmt: skip


def code_only(source: str) -> str:
    """The text with everything but code blanked; every character keeps its place."""
    for pattern in _NO_CODE:
        source = pattern.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), source)
    return source


#: (operator, pattern, replacements); a replacement may use the pattern's groups.
_SWAPS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("arithmetic", r" \+ ", (" - ",)),
    ("arithmetic", r" - ", (" + ",)),
    ("arithmetic", r" \* ", (" + ",)),
    ("arithmetic", r" / ", (" * ",)),
    ("arithmetic", r" % ", (" / ",)),
    ("assignment", r" \+= ", (" -= ", " = ")),
    ("assignment", r" -= ", (" += ",)),
    ("assignment", r" \*= ", (" += ",)),
    ("assignment", r" (?:\|=|<<=|>>=) ", (" &= ",)),
    ("relation", r" < ", (" <= ", " >= ")),
    ("relation", r" > ", (" >= ", " <= ")),
    ("relation", r" <= ", (" < ",)),
    ("relation", r" >= ", (" > ",)),
    ("relation", r" == ", (" != ",)),
    ("relation", r" != ", (" == ",)),
    ("logic", r" && ", (" || ",)),
    ("logic", r" \|\| ", (" && ",)),
    ("logic", r"!(?=[A-Za-z_(*])", ("",)),
    ("bits", r" & ", (" | ",)),
    ("bits", r" \| ", (" & ",)),
    ("bits", r" \^ ", (" | ",)),
    ("bits", r" << ", (" >> ",)),
    ("bits", r" >> ", (" << ",)),
    ("bits", r"~(?=[A-Za-z_(])", ("",)),
    ("drop_carry", r"\baddc_cc\(", ("add_cc(",)),
    ("drop_carry", r"\baddc\(", ("add_cc(",)),
    ("drop_carry", r"\bsubc_cc\(", ("sub_cc(",)),
    ("drop_carry", r"\bsubc\(", ("sub_cc(",)),
    ("drop_carry", r"\bmadc_lo_cc\(", ("mad_lo_cc(",)),
    ("drop_carry", r"\bmadc_hi_cc\(", ("madc_hi(",)),
    ("negation", r"(?<=[(,=?:{ ])-(?=[A-Za-z_(*])", ("",)),
    ("negation", r"\.cneg\((?:[^()]|\([^()]*\))*\)", ("",)),
    ("identity", r"\bone\(\)", ("zero()",)),
    ("identity", r"\bzero\(\)", ("one()",)),
    ("step", r"(?<!\+)\+\+(?=[a-z])", ("--",)),
    ("step", r"(?<!-)--(?=[a-z])", ("++",)),
    ("ternary", r" \? ", (" && false ? ", " || true ? ")),
    ("index", r"(?<!\[)\[([A-Za-z_]\w*)\]", (r"[\1 + 1]", r"[\1 - 1]")),
    ("operand", r"\b(u|x|y|zz|zzz|c0|c1|d0|d1)\b(?= [*+-] )", (r"\1.dbl()",)),
    ("thread", r"\bex\.(thread|block|lane)\(\)", (r"(ex.\1() + 1)",)),
    ("thread", r"\bex\.(width|num_blocks)\(\)", (r"(ex.\1() + 1)", r"(ex.\1() - 1)")),
    ("shuffle", r"\bex\.shfl_up\(", ("ex.shfl_down(",)),
    ("shuffle", r"\bex\.shfl_xor\(([^,()]+), ([^()]+?)\)",
     (r"ex.shfl_xor(\1, (\2) ^ 1)", r"ex.shfl_xor(\1, (\2) / 2)")),
    ("shuffle", r"\bex\.shfl\(([^,()]+), ([^()]+?)\)", (r"ex.shfl(\1, (\2) ^ 1)",)),
    ("shuffle", r"\bex\.ballot\(([^()]+?)\)", (r"(ex.ballot(\1) & 0xffffu)",)),
    ("warp", r"(?<!constexpr \()\bEx::WARP\b(?! (?:==|>) 1)", ("(Ex::WARP / 2)", "(Ex::WARP * 2)")),
    # A plain read, add and write; the atomic that adds nothing is where another thread may come in between.
    ("plain_add", r"\bex\.atomic_add\(",
     ("[&](auto* p, auto v) { auto old = *p; (void)ex.atomic_add(p, decltype(v)(0)); *p = old + v; return old; }(",)),
    ("plain_add", r"\bex\.atomic_(min|max)\(", ("[](auto* p, auto v) { auto old = *p; *p = v; return old; }(",)),
)  # fmt: skip

_CONSTANT = re.compile(r"(?<![\w.])(\d+)(?=u?\b(?![.x]))")
_CONDITION = re.compile(r"\b(?:if|if constexpr|while) \(")
_DECLARATION = re.compile(
    r"^(?:const|static|constexpr|auto|return|using|friend|explicit)\b"
    r"|^[\w:<>,\s*&]+[\s*&]\w+\s*(?:=|;|\[|\(|\{|,)"
)
_CONTROL = re.compile(
    r"^(?:if|else|for|while|do|switch|case|default|break|continue|struct|public|private|namespace)\b|^[}\]]"
)


#: The text before a bracket that gives an array's size: a longer array is no fault.
_SIZE_OF_ARRAY = re.compile(
    r"^\s*(?!return\b)(?:const )?[\w:<>]+ (?:\w+(?:\[[^\]]*\])?(?: = [^,;]+)?, )*\w+$"
)


def _swaps(code: str) -> Iterator[tuple[str, int, int, str]]:
    for operator, pattern, replacements in _SWAPS:
        for match in re.finditer(pattern, code):
            if operator == "index" and _SIZE_OF_ARRAY.match(code[: match.start()]):
                continue
            for replacement in replacements:
                yield operator, match.start(), match.end(), match.expand(replacement)


def _is_array_size(code: str, place: int) -> bool:
    """Whether a place lies between the brackets of an array's declaration."""
    opened = code.rfind("[", 0, place)
    return opened > code.rfind("]", 0, place) and _SIZE_OF_ARRAY.match(code[:opened]) is not None


def _constants(code: str) -> Iterator[tuple[str, int, int, str]]:
    for match in _CONSTANT.finditer(code):
        value = int(match.group(1))
        for other in (value - 1,) if _is_array_size(code, match.start()) else (value + 1, value - 1):
            if other >= 0:
                yield "constant", match.start(1), match.end(1), str(other)


def _conditions(code: str) -> Iterator[tuple[str, int, int, str]]:
    for match in _CONDITION.finditer(code):
        start, depth = match.end(), 1
        for end in range(start, len(code)):
            depth += (code[end] == "(") - (code[end] == ")")
            if depth == 0:
                inner = code[start:end]
                yield "branch", start, end, f"false && ({inner})"
                if "while" not in match.group():
                    yield "branch", start, end, f"true || ({inner})"
                break


def _deletion(code: str, before: str) -> Iterator[tuple[str, int, int, str]]:
    """A whole statement that stands in one line of its own."""
    text = code.strip()
    starts_here = before == "" or before[-1] in ";{}:"
    if not (text.endswith(";") and text.count(";") == 1 and starts_here) or text == ";":
        return
    if _CONTROL.match(text) or _DECLARATION.match(text):
        return
    start = len(code) - len(code.lstrip())
    operator = "barrier" if ".sync" in text else "deletion"
    yield operator, start, start + len(text), ";"


_LINE_OPERATORS: tuple[Callable[[str], Iterator[tuple[str, int, int, str]]], ...] = (
    _swaps,
    _constants,
    _conditions,
)


def mutants_of(header: str, source: str) -> list[Mutant]:
    """Every mutant of a header, in the order of its lines; mutants with the same text appear once."""
    found: list[Mutant] = []
    before = ""
    lines = source.split("\n")
    for number, (original, code) in enumerate(
        zip(lines, code_only(source).split("\n"), strict=True), start=1
    ):
        if not code.strip():
            continue
        changes = [change for operator in _LINE_OPERATORS for change in operator(code)]
        changes += _deletion(code, before)
        seen = {original}
        for operator, start, end, text in changes:
            mutant = Mutant(header, number, operator, start, end, text, original, before)
            if mutant.mutated not in seen:
                seen.add(mutant.mutated)
                found.append(mutant)
        before = code.rstrip()
    return found
