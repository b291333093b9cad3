"""What the game is, and which of its results stand for the others."""

from transformations.pipeline import Charted, Story

PIPELINE = Story(
    name="game",
    story="A mobile game: teams pop bubbles, players change leagues and are shown offers. Phones deliver late, twice and wrong.",
    controlled=("team_scores", "level_ups"),
    charted=Charted("team_scores", "bubbles"),
    killed=("hot_minutes", "player_sessions", "team_scores"),  # of each way to stream and to tell a result
    live=("team_scores", "level_ups"),
    simulator="simulator.game",
    witness=".witness",
)
