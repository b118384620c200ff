"""Many mutants in one object: each number gives what its mutant alone would give, and 0 what the header says.

Would catch: a choice that cuts an expression in the wrong place, one that changes a type in silence, a mutant that is
killed only among others, a record that keeps verdicts of lines that have changed.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from cuzk_fuzz.mutation import scoring, stored
from cuzk_fuzz.mutation.operators import Mutant, mutants_of
from cuzk_fuzz.mutation.plans import GROUPS, PLANS
from cuzk_fuzz.mutation.runner import Runner
from cuzk_fuzz.mutation.schema import PRELUDE, arrange, blamed
from cuzk_fuzz.mutation.score import Score, Verdict

#: One function with every kind of place a change may stand in.
HEADER = """\
template <class T> struct Pair { T a, b; };
inline int half(int x) { return x / 2; }
inline int work(int n, int* out) {
    int table[4] = {1, 2, 3, 4}, sum = n > 3 ? n - 1 : 7 * n;
    const Pair<int> pair{n + 1, half(n) - 2};
    for (int i = 0; i < 4; ++i) {
        table[i] = i < 2 && n != 5 ? table[i] + pair.a : 0;
        if (table[i] == 3) continue;
        sum += table[i] << 1;
    }
    out[1] = sum;
    auto twice = [&](int v) { return v * 2 + out[1]; };
    if (sum > 9) sum -= twice(sum & 7);
    else sum = -twice(sum | 1);
    return sum * 3 - pair.b;
}
"""
_MAIN = """
#include <cstdio>
int main(int, char** argv) {
    %s
    for (int n = 0; n < 9; ++n) { int out[3] = {n, 5, n}; std::printf("%%d %%d\\n", work(n, out), out[1]); }
}
"""


def _output(folder: Path, header: str, prelude: str, numbers: range) -> list[str]:
    """What a header's function gives, for every number of a mutant."""
    choose = 'std::sscanf(argv[1], "%d", &cuzk_mutant);' if prelude else "(void)argv;"
    (folder / "main.cpp").write_text(prelude + header + _MAIN % choose)
    program = folder / "main"
    subprocess.run(
        ["g++", "-std=gnu++17", "-O0", "-w", "-ftrapv", str(folder / "main.cpp"), "-o", str(program)],
        check=True, capture_output=True,
    )  # fmt: skip
    command = ["timeout", "120", str(program)]
    return [
        subprocess.run([*command, str(number)], capture_output=True, text=True, check=False).stdout
        for number in numbers
    ]


def test_every_number_is_its_mutant_alone(tmp_path: Path) -> None:
    def harmless(
        mutant: Mutant,
    ) -> bool:  # no read or write beside an array, no loop without end: values compare
        return mutant.operator not in ("index", "step") and not (
            mutant.line == 6 and mutant.operator != "relation"
        )

    mutants = [m for m in mutants_of("work.hpp", HEADER) if harmless(m) and " <= " not in m.text]
    mutants = [m for m in mutants if not (m.operator == "constant" and "[" in m.original[: m.start])]
    schema, left = arrange(HEADER, mutants)
    assert not left
    together = _output(tmp_path, schema, PRELUDE, range(len(mutants) + 1))
    (original,) = _output(tmp_path, HEADER, "", range(1))
    assert together[0] == original
    assert sum(text != original for text in together[1:]) > 0.8 * len(mutants)
    for number in range(1, len(mutants) + 1, 5):
        (alone,) = _output(tmp_path, mutants[number - 1].apply(HEADER), "", range(1))
        assert together[number] == alone, mutants[number - 1].name


def _expression(line: str, change: str, instead: str) -> str:
    """The original that a choice for a change in a line goes round."""
    start = line.index(change)
    mutant = Mutant("s.hpp", 1, "test", start, start + len(change), instead, line)
    schema, left = arrange(line + "\n", [mutant])
    if left:
        return "none"
    return schema.rpartition(":\n(")[2].rpartition("/*@1*/)")[0].rpartition(")")[0].strip()


@pytest.mark.parametrize(
    ("line", "change", "instead", "expression"),
    [
        ("x = a * b + c;", " * ", " + ", "a * b + c"),
        ("digits[k] = on && i < n ? d[i] : 0;", "[k]", "[k + 1]", "digits[k]"),
        ("r = p.size() == 0 ? f(a, b + 1) : g(c) - 1;", " - ", " + ", "g(c) - 1"),
        ("r = a < b ? c : d;", " ? ", " && false ? ", "a < b ? c : d"),
        ("x += y ? 1 : 2;", " += ", " -= ", "x += y ? 1 : 2"),
        ("if (f(a)) return Pair<G, 3>(a, next) + 1;", " + ", " - ", "Pair<G, 3>(a, next) + 1"),
        ("else s = addc(t[i], M::limb(i), c);", "addc(", "add_cc(", "addc(t[i], M::limb(i), c)"),
        ("for (u32 i = 0; i < n; ++i) {", " < ", " <= ", "i < n"),
        ("if constexpr (N > 1) x = 2;", " > ", " >= ", "none"),
        ("static constexpr int N = 8 * B;", " * ", " + ", "none"),
    ],
)
def test_a_choice_goes_round_a_whole_expression(
    line: str, change: str, instead: str, expression: str
) -> None:
    assert _expression(line, change, instead) == expression


def test_an_error_is_blamed_on_the_mutant_in_whose_line_it_stands() -> None:
    mutants = [m for m in mutants_of("work.hpp", HEADER) if m.operator == "arithmetic"]
    schema, _ = arrange(HEADER, mutants)
    line = next(i for i, text in enumerate(schema.split("\n"), start=1) if text.startswith("/*@3*/"))
    assert blamed(schema, "work.hpp", f"/x/tree/work.hpp:{line}:9: error: no\nother.hpp:1:1: error: no") == {
        3
    }


def test_a_record_forgets_lines_that_have_changed(tmp_path: Path) -> None:
    old = mutants_of("work.hpp", HEADER)[0]
    record = tmp_path / "record.jsonl"
    scoring.Record(record).add(Verdict(old, "killed", "cpu, wrong answers", ("cpu", "ab")), 0.1)
    assert scoring.Record(record).find(old) == Verdict(old, "killed", "cpu, wrong answers", ("cpu", "ab"))
    changed = mutants_of("work.hpp", HEADER.replace("x / 2;", "x / 2; // why"))[0]
    assert changed.name == old.name
    assert scoring.Record(record).find(changed) is None


def test_every_header_with_a_plan_is_in_one_group() -> None:
    assert sorted(header for group in GROUPS.values() for header in group) == sorted(PLANS)


def test_bounds_are_those_of_a_binomial() -> None:
    mutant = mutants_of("work.hpp", HEADER)[0]
    score = Score(9, [Verdict(mutant, "killed")] * 58 + [Verdict(mutant, "survived")] * 2)
    assert score.bounds == pytest.approx((0.8847, 0.9959), abs=1e-4)
    assert Score(9, []).bounds == (0.0, 1.0)


def test_a_stored_run_is_counted_again() -> None:
    verdicts = [("a.cuh:1:1:constant:2", "killed", "cpu, wrong answers", "")] * 5
    verdicts += [
        ("a.cuh:2:1:thread:(x)", "survived", "", what) for what in ("equivalent", "killed since", "open")
    ]
    verdicts += [("a.cuh:3:1:constant:0", "same as the original", "", "")]
    assert stored.scores(verdicts) == {
        "as drawn": (5, 8), "without those reviewed": (5, 7), "by now": (6, 7),
    }  # fmt: skip
    lines = stored.lines_of({"some": {"verdicts": verdicts}})
    assert lines[0] == "some, as drawn: 5 of 8, 62.5% (24.5% to 91.5%)"
    assert lines[-1].startswith("some, faults of threads, by now: 1 of 2, 50.0%")


@pytest.mark.long
def test_verdicts_are_those_of_mutants_alone(tmp_path: Path) -> None:
    runner = Runner(["spmv.cuh"], tmp_path, jobs=1)
    mutants = runner.shuffled(1)[:24]
    killed = {verdict.mutant for verdict in runner.screen(mutants)}
    assert len(killed) > 15
    alone = list(runner.run([m for m in mutants if m in killed]))
    assert {v.verdict for v in alone} <= {"killed", "duplicate"}
    assert sum(v.verdict == "killed" for v in alone) > 10
