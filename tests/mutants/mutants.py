"""Mistakes that somebody could make in the rules, and the law that has to notice each.

A mutant is a piece of the product's text and what stands there instead. `tests` select what must fail; `results` are the
only ones that the laws run then, so that a mutant costs seconds. Add one for every rule that a change of code brings.
"""

from dataclasses import dataclass

LAWS = "tests/laws/test_layers_agree.py"
EDGES = f"{LAWS}::test_beside_the_edges_that_are_known_every_result_equals_batch"
ANY_LOG = f"{LAWS}::test_on_any_log_at_any_version_in_any_cut_the_stream_equals_batch"
RECOMPUTED = f"{LAWS}::test_what_the_engine_computes_can_be_recomputed_just_as_well"
DROP = f"{LAWS}::test_under_drop_the_answer_is_that_over_what_was_in_time_in_any_cut"
FEW_ROWS = f"{LAWS}::test_what_few_rows_touch_is_right_under_either_policy"
ONE_LATE = "tests/laws/test_one_late_event.py"
CUT = "tests/laws/test_the_cut_of_a_delivery_is_irrelevant.py"
WITNESS = "tests/witness/test_witness_at_other_settings.py"
VIEW = "tests/transformations/test_changelog_view.py"
ARRIVAL = "tests/transformations/test_arrival_order.py"
CLOCK = "tests/transformations/test_clock_correction.py"


@dataclass(frozen=True)
class Mutant:
    name: str
    file: str
    old: str
    new: str
    tests: str
    results: str = ""
    only: str = ""  # pytest's -k


MUTANTS = [
    # Lateness
    Mutant(
        "the engine gets late rows of sessions", "transformations/result.py",
        "self.computed(self.counted(events, allowed))", "self.computed(self.placed(events))",
        EDGES, "player_sessions",
    ),
    Mutant(
        "late a millisecond later", "transformations/shape.py",
        "self.deadline() <= earlier(", "self.deadline() < earlier(",
        DROP, "hot_minutes,team_scores",
    ),
    Mutant(
        "late by its own time, not by its window", "transformations/windows.py",
        'return F.col("window.end")\n\n    def touched', 'return F.col("event_time")\n\n    def touched',
        EDGES, "team_scores",
    ),
    Mutant(
        "drop leaves late rows in what is recomputed", "speed_layer/repair.py",
        "reads(first, last)), dropped_after)", "reads(first, last)), None)",
        DROP, "pop_streaks,hot_minutes",
    ),
    Mutant(
        "a dropped change ends the one before it", "speed_layer/repair.py",
        "result.counted(ahead, dropped_after)", "result.counted(ahead, None)",
        FEW_ROWS, "league_scores",
    ),
    # Settling
    Mutant(
        "settled a millisecond later", "transformations/shape.py",
        "self.settles() <= before", "self.settles() < before",
        WITNESS, only="edges",
    ),
    Mutant(
        "an offer settles at its bound", "transformations/joins.py",
        "BEYOND = timedelta(milliseconds=1)", "BEYOND = timedelta(0)",
        WITNESS, only="edges",
    ),
    # Precedence and what vanishes
    Mutant(
        "the newest row outranks a repair", "transformations/changelog.py",
        '''["cause = 'late'", "log_version"]''', '''["log_version", "cause = 'late'"]''',
        VIEW,
    ),
    Mutant(
        "the tombstone is forgotten in the view", "transformations/changelog.py",
        '''log_version=log_version).where("not deleted")''', "log_version=log_version)",
        EDGES, "league_scores,level_ups",
    ),
    Mutant(
        "nothing is written as deleted", "transformations/changelog.py",
        '(~F.expr(result.present)).alias("deleted")', 'F.lit(False).alias("deleted")',
        EDGES, "league_scores,level_ups",
    ),
    Mutant(
        "a session within another is shown", "transformations/changelog.py",
        "return outermost(winners, result)", "return winners",
        EDGES, "player_sessions",
    ),
    Mutant(
        "an older epoch is shown too", "transformations/changelog.py",
        '(F.col("epoch") == epoch) & (F.col("log_version") <= log_version)', 'F.col("log_version") <= log_version',
        VIEW,
    ),
    # Repair
    Mutant(
        "a repair reads the newest log", "lakehouse/log_files.py",
        "most = position(self.lake, version).seq", "most = position(self.lake).seq",
        ANY_LOG, "team_scores",
    ),
    Mutant(
        "a repair knows the last commit alone", "speed_layer/repair.py",
        "after=of.previous)", "after=of.version - 1)",
        EDGES, "team_scores,player_sessions",
    ),
    Mutant(
        "an open session is repaired once", "speed_layer/repair.py",
        "again = engine and result.window.reopens and", "again = False and",
        ONE_LATE,
    ),
    Mutant(
        "a micro-batch without news closes open repairs", "speed_layer/micro_batch.py",
        '{"open_repairs": open_repairs_before(of.lake, result, covered)}', "{}",
        "tests/speed_layer/test_open_repairs.py",
    ),
    Mutant(
        "a commit forgets its open repairs", "speed_layer/micro_batch.py",
        'counts.get(("late", False), 0)', "0",
        ONE_LATE,
    ),
    Mutant(
        "a slice with a late row is taken for one without", "lakehouse/log_summary.py",
        "self.behind >= allowed", "self.behind < timedelta(0)",
        EDGES, "player_sessions",
    ),
    Mutant(
        "a slice with a row that the engine drops is taken for one without", "lakehouse/log_summary.py",
        "self.least < bound", "self.least + timedelta(minutes=1) < bound",
        EDGES, "team_scores",
    ),
    # What the engine holds
    Mutant(
        "the engine's bound is a micro-batch late", "lakehouse/checkpoints.py",
        "watermark(checkpoint, batch - 1) if batch > 0", "watermark(checkpoint, batch - 2) if batch > 1",
        EDGES, "team_scores",
    ),
    Mutant(
        "the engine's bound is a micro-batch early", "lakehouse/checkpoints.py",
        "watermark(checkpoint, batch - 1) if batch > 0", "watermark(checkpoint, batch) if batch > 0",
        EDGES, "team_scores",
    ),
    Mutant(
        "the hold is shorter than the lateness", "lakehouse/settings.py",
        "return max(self.allowed, self.holds.get(result.name, self.hold))", "return self.allowed / 2",
        EDGES, "team_scores",
    ),
    Mutant(
        "what Spark dropped is not compared with what was repaired", "lakehouse/queries.py",
        "expected is not None and dropped != expected", "False",
        "tests/speed_layer/test_stream_and_repair.py", only="told_on",
    ),
    Mutant(
        "a repair reads no further back than its late rows", "speed_layer/repair.py",
        "return told.least - reach,", "return told.least,",
        ANY_LOG, "team_scores",
    ),
    Mutant(
        "a repair never reads on", "speed_layer/repair.py",
        "wider = _wider(spark, log, of, rows, first, last)", "wider = (first, last)",
        ONE_LATE, "player_sessions",
    ),
    Mutant(
        "a late change of league moves nothing", "transformations/versions.py",
        '.unionByName(moved.select(*by, "window"))', "",
        FEW_ROWS, "league_scores", "correct",
    ),
    Mutant(
        "a pop does not touch the next one's past", "transformations/sliding.py",
        'rows.where("hit or before_hit")', 'rows.where("hit")',
        ANY_LOG, "hot_minutes",
    ),
    Mutant(
        "a late click touches no offer before it", "transformations/joins.py",
        "by, left, later(left, self.within))", "by, left, left)",
        f"{EDGES} {ANY_LOG}", "offer_outcomes",
    ),
    # Exactly once
    Mutant(
        "an append does not ask whether it was done already", "lakehouse/appends.py",
        "last is not None and last >= transaction.number", "False",
        EDGES, "team_scores",
    ),
    # Order, copies, clocks
    Mutant(
        "the mark is that of the whole block", "transformations/lines/sequence.py",
        "np.maximum.accumulate(np.where(new, times, _NEVER))",
        "np.full(len(times), np.where(new, times, _NEVER).max())",
        CUT,
    ),
    Mutant(
        "the mark begins anew in every block", "transformations/lines/sequence.py",
        "before = _NEVER if high_water is None else high_water * 1000", "before = _NEVER",
        CUT,
    ),
    Mutant(
        "copies are looked for in the block alone", "transformations/lines/sequence.py",
        "is_new = first & ~found[which]", "is_new = first",
        CUT,
    ),
    Mutant(
        "a copy is compared with the first of its block", "transformations/lines/sequence.py",
        "original = np.where(found, logged, content[first])", "original = content[first]",
        ARRIVAL,
    ),
    Mutant(
        "a clock is wrong at the tolerance", "transformations/lines/judge.py",
        "np.abs(error) > milliseconds", "np.abs(error) >= milliseconds",
        CLOCK,
    ),
    Mutant(
        "a fast clock is not corrected", "transformations/lines/judge.py",
        "np.abs(error) > milliseconds", "error > milliseconds",
        CLOCK,
    ),
    # Ties and bounds
    Mutant(
        "ties level up by their bubbles", "pipelines/game/results/level_ups.py",
        'F.struct("event_time", "event_id", "bubbles")', 'F.struct("event_time", "bubbles", "event_id")',
        WITNESS, only="edges",
    ),
    Mutant(
        "ties streak in no order", "pipelines/game/results/pop_streaks.py",
        '.orderBy("event_time", "event_id")', '.orderBy("event_time", F.desc("event_id"))',
        ANY_LOG, "pop_streaks",
    ),
    Mutant(
        "a click at the bound is too late", "pipelines/game/results/offer_outcomes.py",
        "interval {_seconds(within)} seconds", "interval {_seconds(within - timedelta(milliseconds=1))} seconds",
        ANY_LOG, "offer_outcomes",
    ),
    Mutant(
        "a sliding window holds both its ends", "pipelines/game/results/hot_minutes.py",
        "rangeBetween(1 - milliseconds", "rangeBetween(0 - milliseconds",
        WITNESS, only="edges",
    ),
    Mutant(
        "what is recomputed keeps late rows out", "speed_layer/repair.py",
        "after=of.previous), dropped_after)", "after=of.previous), settings.lateness.allowed)",
        RECOMPUTED, "team_scores",
    ),
]  # fmt: skip
