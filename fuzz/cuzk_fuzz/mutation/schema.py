"""Mutant schemata: one text of a header that holds many mutants, of which a number chooses one at run time.

The expression around a change becomes ``(cuzk_mutant == 7 ? (changed) : (original))``.  Where C++ allows no such
choice (constants of the language, conditions of ``if constexpr``) the compiler says so, in a line that belongs to that
mutant alone.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from cuzk_fuzz.mutation.operators import Mutant, code_only

#: In front of the kernels' source.  The choice may not change a type: overloads and widths would follow it.
PRELUDE = """\
extern "C" { int cuzk_mutant = 0; }
template <class T> struct CuzkPlain { using type = T; };
template <class T> struct CuzkPlain<T&> { using type = T; };
template <class T> struct CuzkPlain<const T> { using type = T; };
template <class T> struct CuzkPlain<const T&> { using type = T; };
template <class A, class B> struct CuzkAlike { static constexpr bool value = false; };
template <class A> struct CuzkAlike<A, A> { static constexpr bool value = true; };
template <int K, class A, class B> constexpr int cuzk_number() {
    static_assert(CuzkAlike<typename CuzkPlain<A>::type, typename CuzkPlain<B>::type>::value, "another type");
    return K;
}
#define CUZK_NUMBER(k, ...) cuzk_number<k, __VA_ARGS__>()
"""

_MARK = re.compile(r"/\*@(\d+)\*/")
#: A template's arguments: their commas and brackets belong to no expression.
_ARGUMENTS = re.compile(r"(?<=\w)<[\w:<>,*& ]*>(?=[\s({:;&*>,)])")
_TOKEN = re.compile(r"<<=|>>=|[-+*/%&|^]=|==|!=|<=|>=|<<|>>|&&|\|\||::|->|[()\[\]{}?:;,=]|\w+|\S")
_ASSIGNMENT = re.compile(r"(?:<<|>>|[-+*/%&|^])?=$")
_CONTROL = re.compile(r"\s*(?:else\b|return\b|do\b)|\s*(?:if constexpr|if|while|for) (?=\()")
#: Lines of what the language wants to know when it compiles: they take no choice.
_CONSTANT = re.compile(r"\b(?:constexpr|CUZK_CONST_FN|static_assert)\b")
_OPENING, _CLOSING = "([{", ")]}"


@dataclass
class _Place:
    """An expression with changes: its characters, and (number, its changed text) of every change."""

    start: int
    end: int
    changes: list[tuple[int, str]] = field(default_factory=list)


@dataclass(frozen=True)
class Text:
    """A header's text as schemata see it.

    Attributes:
        source: The header.
        code: The same with everything but code blanked.
        tokens: (first character, token) of the code, arguments of templates in one.
        lines: First characters of the lines.
    """

    source: str
    code: str
    tokens: list[tuple[int, str]]
    lines: list[int]

    @classmethod
    def of(cls, source: str) -> Text:
        """Split a header."""
        code = code_only(source)
        plain = _ARGUMENTS.sub(lambda match: "_" * len(match.group()), code)
        tokens = [(match.start(), match.group()) for match in _TOKEN.finditer(plain)]
        return cls(source, code, tokens, [0, *(m.end() for m in re.finditer("\n", source))])

    def span(self, mutant: Mutant) -> tuple[int, int]:
        """The characters that a mutant replaces."""
        first = self.lines[mutant.line - 1]
        return first + mutant.start, first + mutant.end

    def expression(self, mutant: Mutant) -> tuple[int, int]:
        """The characters of the smallest whole expression around a mutant's change."""
        start, end = self.span(mutant)
        inside = [token for place, token in self.tokens if start <= place < end]
        loose = any(_ASSIGNMENT.match(token) for token in inside)
        opened = sum((token in _OPENING) - (token in _CLOSING) for token in inside)
        return self._left(start), self._right(end, opened, "?" in inside, loose)

    def _left(self, start: int) -> int:
        depth = 0
        found = 0
        for place, token in reversed(self.tokens):
            if place >= start:
                continue
            if token in _CLOSING:
                if token == "}" and depth == 0:
                    found = place + 1
                    break
                depth += 1
            elif token in _OPENING:
                if depth == 0:
                    found = place + 1
                    break
                depth -= 1
            elif depth == 0 and (token in ("?", ":", ";", ",") or _ASSIGNMENT.match(token)):
                found = place + len(token)
                break
        return self._past_control(found, start)

    def _past_control(self, place: int, limit: int) -> int:
        """The first character of the expression behind `else`, `return`, `if (...)` and the like."""
        while match := _CONTROL.match(self.code, place, limit):
            end = match.end()
            if match.group().endswith(" "):
                depth = 0
                for end in range(match.end(), limit):
                    depth += (self.code[end] in _OPENING) - (self.code[end] in _CLOSING)
                    if depth == 0:
                        break
                end += 1
            place = end
        return place + len(self.code[place:limit]) - len(self.code[place:limit].lstrip())

    def _right(self, end: int, depth: int, ternary: bool, loose: bool) -> int:
        pending = int(ternary)
        for place, token in self.tokens:
            if place < end:
                continue
            if token in _OPENING:
                depth += 1
            elif token in _CLOSING:
                if depth == 0:
                    return place
                depth -= 1
            elif depth == 0 and (token in (";", ",") or (not loose and _ASSIGNMENT.match(token))):
                return place
            elif depth == 0 and not loose and token == "?":
                if not pending:
                    return place
                pending += 1
            elif depth == 0 and not loose and token == ":":
                if not pending:
                    return place
                pending -= 1
        return len(self.code)


def _is_constant(text: Text, mutant: Mutant, start: int) -> bool:
    """Whether a change's line, or its statement up to there, says that it is evaluated by the compiler."""
    begin = max(text.code.rfind(character, 0, start) for character in ";{}")
    return any(_CONSTANT.search(part) for part in (mutant.original, text.code[begin + 1 : start]))


def _flat(text: str) -> str:
    return " ".join(text.split())


def _changed(text: Text, mutant: Mutant, start: int, end: int) -> str:
    first, last = text.span(mutant)
    return _flat(text.code[start:first] + mutant.text + text.code[last:end]).removesuffix(";").strip()


def arrange(source: str, mutants: Sequence[Mutant]) -> tuple[str, list[int]]:
    """A header with many mutants, and the numbers (from 1, by position) of those that found no place in it.

    Changes of one expression, and of expressions inside one another, stand side by side.
    """
    text = Text.of(source)
    places: dict[tuple[int, int], _Place] = {}
    left: list[int] = []
    for number, mutant in enumerate(mutants, start=1):
        start, end = text.expression(mutant)
        if mutant.text.strip() == ";":  # a whole statement; its semicolon stays
            start, end = text.span(mutant)
            end -= 1
        crossing = any(s < start < e < end or start < s < end < e for s, e in places)
        if end <= start or crossing or _is_constant(text, mutant, start):
            left.append(number)
            continue
        place = places.setdefault((start, end), _Place(start, end))
        place.changes.append((number, _changed(text, mutant, start, end)))
    ordered = sorted(places.values(), key=lambda place: (place.start, -place.end))
    return _render(text, 0, len(source), ordered), left


def _render(text: Text, start: int, end: int, places: list[_Place]) -> str:
    """The characters from start to end, places in order of their beginning, outer ones before inner ones."""
    out, at, index = "", start, 0
    while index < len(places):
        place = places[index]
        inner = [p for p in places[index + 1 :] if p.end <= place.end]
        out += text.source[at : place.start]
        out += _choice(
            text.code[place.start : place.end], _render(text, place.start, place.end, inner), place
        )
        at = place.end
        index += 1 + len(inner)
    return out + text.source[at:end]


def _choice(original: str, rendered: str, place: _Place) -> str:
    out = "("
    for number, changed in place.changes:
        mark = f"\n/*@{number}*/ "
        if not changed:  # a statement that is gone, and what stands here instead of it
            rest = _choice(original, rendered, _Place(0, 0, [c for c in place.changes if c[1]]))
            return f"{mark}(cuzk_mutant == {number} ? (void)0 : (void)(\n{rest}))"
        typed = "](" not in changed  # C++17 has no decltype of a lambda
        same = (
            f"CUZK_NUMBER({number}, decltype(({changed})), decltype(({_flat(original)})))"
            if typed
            else number
        )
        out += f"{mark}cuzk_mutant == {same} ? ({changed}) :\n"
    marks = "".join(f"/*@{number}*/" for number, _ in place.changes)
    return f"{out}({rendered}){marks})"


def blamed(schema: str, header: str, messages: str) -> set[int]:
    """Numbers of the mutants in whose lines a compiler found errors."""
    lines = schema.split("\n")
    found: set[int] = set()
    for match in re.finditer(rf"{re.escape(header)}:(\d+):\d+: (?:error|note)", messages):
        found |= {int(number) for number in _MARK.findall(lines[int(match.group(1)) - 1])}
    return found
