"""Mutants: operators change code and nothing else, and a mutant's fate is told from what it does.

Would catch: an operator that mutates comments, a killed mutant that survived (or the other way round), a list of
equivalents that outlives its lines, a gate that passes with a survivor.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from cuzk_fuzz import cli, commands
from cuzk_fuzz.mutation.build import KERNELS
from cuzk_fuzz.mutation.equivalents import Equivalent, find, load_equivalents, stale
from cuzk_fuzz.mutation.operators import GPU_OPERATORS, HELD_OUT, Mutant, code_only, mutants_of
from cuzk_fuzz.mutation.plans import DEFAULT_HEADERS, PLANS
from cuzk_fuzz.mutation.runner import Runner
from cuzk_fuzz.mutation.score import Score, Verdict

SNIPPET = """\
#define TWICE(x) \\
    (x + x)
/// a + b, less p if that is >= p
template <class F, int N = 2> struct S {
    static_assert(N > 1);
    int f(int a, int b) {
        CUZK_COUNT(COUNT_FP_ADD);
        if (a >= N) b = addc_cc(a, -b, 7);  // not > here
        ex.sync();
        return x[a] ? b : 0;
    }
};
"""


def _mutated(snippet: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for mutant in mutants_of("s.cuh", snippet):
        found.setdefault(mutant.operator, []).append(mutant.mutated.strip())
    return found


def test_operators_make_the_faults_they_are_named_for() -> None:
    line = "if ({}) b = {}, {}7);  // not > here"
    found = _mutated(SNIPPET)
    assert found["relation"] == [line.format("a > N", "addc_cc(a, -b", "")]
    assert found["drop_carry"] == [line.format("a >= N", "add_cc(a, -b", "")]
    assert found["negation"] == [line.format("a >= N", "addc_cc(a, b", "")]
    assert found["branch"][0] == line.format("false && (a >= N)", "addc_cc(a, -b", "")
    assert found["barrier"] == [";"]
    assert found["index"] == ["return x[a + 1] ? b : 0;", "return x[a - 1] ? b : 0;"]
    assert found["ternary"] == ["return x[a] && false ? b : 0;", "return x[a] || true ? b : 0;"]
    constants = [text for text in found["constant"] if "addc_cc" in text]
    assert [text[-21:-13] for text in constants] == ["b, 8);  ", "b, 6);  "]
    assert set(found) == {
        "relation", "drop_carry", "negation", "branch", "barrier", "index", "ternary", "constant",
    }  # fmt: skip


def test_faults_of_threads_have_operators_of_their_own() -> None:
    line = "if constexpr (Ex::WARP == 1) x = ex.shfl_xor(v, mask / 2) + ex.ballot(b) + lane % Ex::WARP;\n"
    found = _mutated(line)
    assert found["shuffle"] == [
        line.strip().replace("mask / 2", "(mask / 2) ^ 1"),
        line.strip().replace("mask / 2", "(mask / 2) / 2"),
        line.strip().replace("ex.ballot(b)", "(ex.ballot(b) & 0xffffu)"),
    ]
    assert [text[-17:] for text in found["warp"]] == ["% (Ex::WARP / 2);", "% (Ex::WARP * 2);"]
    assert set(HELD_OUT) <= set(GPU_OPERATORS)


def test_what_is_no_code_is_left_alone() -> None:
    code = code_only(SNIPPET)
    assert [len(line) for line in code.split("\n")] == [len(line) for line in SNIPPET.split("\n")]
    for word in ("TWICE", "less p", "static_assert", "CUZK_COUNT", "not >", "class F"):
        assert word not in code
    assert "addc_cc" in code


def test_a_mutant_applies_to_its_own_text_only() -> None:
    mutant = mutants_of("s.cuh", SNIPPET)[0]
    changed = mutant.apply(SNIPPET)
    assert sum(a != b for a, b in zip(changed.split("\n"), SNIPPET.split("\n"), strict=True)) == 1
    with pytest.raises(ValueError, match="not a mutant of this text"):
        mutant.apply(SNIPPET.replace(">= N", "> N"))


@pytest.mark.parametrize("header", PLANS)
def test_every_planned_header_has_many_mutants_of_its_own(header: str) -> None:
    mutants = mutants_of(header, (KERNELS / header).read_text())
    assert len(mutants) > 15
    assert len({mutant.name for mutant in mutants}) == len(mutants)
    assert all(mutant.mutated != mutant.original for mutant in mutants)


def test_equivalents_are_few_and_alive() -> None:
    entries = load_equivalents()
    mutants = {header: mutants_of(header, (KERNELS / header).read_text()) for header in PLANS}
    assert not stale(entries, mutants)
    for header in DEFAULT_HEADERS:
        assert sum(entry.header == header for entry in entries) <= 0.05 * len(mutants[header])


def test_an_entry_covers_its_line_and_no_other(tmp_path: Path) -> None:
    mutant = Mutant("s.cuh", 3, "relation", 5, 8, " > ", "if (a < b)  return;", "x = 1;")
    entry = Equivalent(
        "s.cuh", "if (a < b) return;  // why", "if (a > b) return;", "never both at once, see above"
    )
    assert find([entry], mutant) is entry
    assert find([Equivalent(**{**vars(entry), "after": "x = 2;"})], mutant) is None
    assert find([Equivalent(**{**vars(entry), "header": "t.cuh"})], mutant) is None
    path = tmp_path / "list.toml"
    text = '[[equivalent]]\nheader = "s.cuh"\nline = "a"\nmutant = "b"\nproof = "{}"\n'
    path.write_text(text.format("because"))
    with pytest.raises(ValueError, match="no proof"):
        load_equivalents(path)
    path.write_text(2 * text.format("the two are the same because"))
    with pytest.raises(ValueError, match="listed twice"):
        load_equivalents(path)


def _change(source: str, line: str, old: str, new: str) -> Mutant:
    number = next(i for i, text in enumerate(source.split("\n")) if line in text)
    original = source.split("\n")[number]
    start = original.index(old)
    return Mutant("spmv.cuh", number + 1, "test", start, start + len(old), new, original)


@pytest.mark.long
def test_every_fate_is_told(tmp_path: Path) -> None:
    source = (KERNELS / "spmv.cuh").read_text()
    barriers = [m for m in mutants_of("spmv.cuh", source) if m.operator == "barrier"]
    assert barriers
    wrong_sign = _change(source, "a.minus_one_code) return", "sum - value", "sum + value")
    shortcut = _change(source, "a.one_code) return", "code == a.one_code", "false && code == a.one_code")
    mutants = [
        wrong_sign,
        wrong_sign,
        _change(source, "a.minus_one_code) return", "sum - value", "sum  -  value"),
        _change(source, "a.minus_one_code) return", "sum - value", "sum @ value"),
        shortcut,
        *barriers,
    ]
    listed = [Equivalent("spmv.cuh", shortcut.original, shortcut.mutated, "a product with one, only slower")]
    runner = Runner(["spmv.cuh"], tmp_path, jobs=2, equivalents=listed)
    fates = [(v.verdict, v.how) for v in runner.run(mutants)]
    assert fates[0] == ("killed", "emu, wrong answers")
    assert fates[1] == ("duplicate", wrong_sign.name)
    assert [verdict for verdict, _ in fates[2:5]] == ["same as the original", "not compiling", "equivalent"]
    assert all(verdict == "killed" for verdict, _ in fates[5:])
    # A read behind the array, in the bytes that the emulator keeps around it: answers and sanitizer do not show it.
    beside = "(Ex::WARP == 1 ? 0 : *(volatile const i64*)&a.row_ptr[row + 2] * 0) + a.row_ptr[row]"
    (verdict,) = runner.run([_change(source, "i64 begin = a.row_ptr[row], end", "a.row_ptr[row]", beside)])
    assert (verdict.verdict, verdict.how) == ("killed", "emu, shadow memory")


def _score(*verdicts: str) -> Score:
    mutant = mutants_of("s.cuh", SNIPPET)[0]
    return Score(9, [Verdict(mutant, verdict) for verdict in verdicts], 1.0)


def test_the_score_counts_what_it_says() -> None:
    score = _score("killed", "killed", "survived", "equivalent", "duplicate", "not compiling")
    assert (score.distinct, len(score.survivors)) == (4, 1)
    assert score.score == pytest.approx(2 / 3)
    assert score.to_json()["same_as_the_original"] == 0


@pytest.mark.parametrize(
    ("verdicts", "code"),
    [(("killed", "equivalent"), commands.DONE), (("killed", "survived"), commands.FOUND)],
)
def test_a_survivor_fails_the_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], verdicts: tuple[str, ...], code: int
) -> None:
    monkeypatch.setattr("cuzk_fuzz.mutation.command.score_headers", lambda *a, **k: _score(*verdicts))
    assert cli.main(["mutants", "--sample", "2"]) == code
    assert "distinct mutants that are not equivalent are killed" in capsys.readouterr().out


def test_a_stale_entry_fails_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = Equivalent("field.cuh", "gone", "gone too", "it was right once upon a time")
    monkeypatch.setattr("cuzk_fuzz.mutation.command.load_equivalents", lambda: [entry])
    monkeypatch.setattr("cuzk_fuzz.mutation.command.score_headers", lambda *a, **k: _score("killed"))
    assert cli.main(["mutants"]) == commands.FOUND
