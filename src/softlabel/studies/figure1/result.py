"""The result of Figure 1: the slope of the gap between soft and hard labels on the noise level.

All seeds have the same test images, so intervals are over seeds and test images (the lab's two-way model). Slopes are
adjusted for the number of families, gaps for the number of families and levels.

Students that never leave chance and students that learn worse both make a gap. Which seeds have such a student is known
only after the training, so that the gap among the others describes runs that learned and is no estimate for all seeds.
What holds for all seeds is how much of the slope comes from either kind: with the slopes of the other kind replaced by
0, the means of both add up to the slope.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from softlabel.lab.cells import StageResults
from softlabel.lab.statistics import Interval, crossed_mean, share_interval
from softlabel.report.page import Page
from softlabel.studies.figure1.family import ARMS, STUDENTS, NetworkFamily, NoiseLevel, with_runs
from softlabel.studies.figure1.sentences import reason_sentence, slope_sentence, teacher_sentence, teacher_warnings
from softlabel.studies.figure1.settings import FAMILIES, Figure1Settings
from softlabel.studies.figure1.training import chosen_teachers
from softlabel.studies.pages import StudyResult

FEWEST = 2  # runs of an interval


class Figure1Result(StudyResult):
    """Accuracies, gaps and slopes of all families; `plot` shows accuracy and gap against the noise level.

    Attributes
    ----------
    settings : Figure1Settings
        The settings of the study.
    families : list of NetworkFamily
        One per family of networks, with its noise levels, the slope of the gap and the verdict.

    Examples
    --------
    >>> import softlabel as sl
    >>> result = sl.reproduce("figure1", preset="quick")  # doctest: +SKIP
    >>> [(family.name, family.slope.mean, family.verdict) for family in result.families]  # doctest: +SKIP
    """

    def __init__(self, settings: Figure1Settings, results: StageResults) -> None:
        self.settings = settings
        self._results = {(cell.family, cell.level, cell.seed): result for cell, result in results["train"]}
        self._choice = results["choose"]
        self._teachers = chosen_teachers(settings, results)
        self.families = [self._family(name) for name in settings.families]

    def to_dict(self) -> dict[str, Any]:
        """The result as JSON values."""
        return {
            "families": [
                {
                    "family": family.name,
                    "teacher": FAMILIES[family.name][0],
                    "student": FAMILIES[family.name][1],
                    "levels": [level.to_dict() for level in family.levels],
                    "slope": with_runs(family.slope),
                    "slope_started": with_runs(family.started),
                    "slope_parts": {name: part.to_dict() for name, part in family.parts.items()},
                    "teacher_training": family.teacher.model_dump(),
                    "verdict": family.verdict,
                }
                for family in self.families
            ],
            "choice": self.choice(),
            "settings": self.settings.model_dump(mode="json"),
        }

    @property
    def summary(self) -> list[str]:
        """One sentence per family, then why there are gaps, then teachers."""
        sentences = (slope_sentence, reason_sentence, teacher_sentence)
        return [sentence(family) for sentence in sentences for family in self.families]

    @property
    def warnings(self) -> list[str]:
        """Teachers that fail to learn, or are not shown to be better than their students."""
        return [line for family in self.families for line in teacher_warnings(family)]

    @property
    def answer(self) -> str:
        """One sentence per family."""
        return " ".join(self.summary[: len(self.families)])

    def page(self) -> Page:
        from softlabel.studies.figure1.page import figure1_page

        return figure1_page(self)

    def choice(self) -> list[dict[str, Any]]:
        """Validation accuracies in per cent of every way to train a teacher, and of a student on hard labels."""
        return [
            {
                "family": cell.family,
                "training": cell.teacher.model_dump(),
                "noise": cell.level,
                "seed": cell.seed,
                **{arm: 100 * result.metrics[f"{arm}: validation"] for arm in ("teacher", "hard")},
            }
            for cell, result in self._choice
        ]

    def mean_of(self, family: str, arm: str, metric: str, level: float) -> float:
        """Mean of a metric over seeds."""
        return float(
            np.mean([self.metric(family, arm, metric, level, seed) for seed in self.settings.seeds_of(family)])
        )

    def metric(self, family: str, arm: str, metric: str, level: float, seed: int) -> float:
        """A metric of one network."""
        return self._results[family, level, seed].metrics[f"{arm}: {metric}"]

    def _correct(self, family: str, arm: str, level: float, seeds: Sequence[int]) -> np.ndarray:
        """100 where a network is right on a test image, else 0: (seeds, images)."""
        images = len(self._results[family, level, self.settings.seed].arrays[f"correct: {arm}"])
        rows = [self._results[family, level, seed].arrays[f"correct: {arm}"] for seed in seeds]
        return 100.0 * np.array(rows, dtype=np.float64).reshape(len(rows), images)

    def _gap(self, family: str, level: float, seeds: Sequence[int]) -> np.ndarray:
        return self._correct(family, "soft", level, seeds) - self._correct(family, "hard", level, seeds)

    def _started(self, family: str, level: float) -> list[int]:
        """Seeds with which both students started to learn."""
        seeds = self.settings.seeds_of(family)
        return [seed for seed in seeds if not any(self._failed(family, arm, level, seed) for arm in STUDENTS)]

    def _failed(self, family: str, arm: str, level: float, seed: int) -> bool:
        return 100 * self.metric(family, arm, "validation", level, seed) < self.settings.started

    def _interval(self, table: np.ndarray, comparisons: int = 1) -> Interval:
        return Interval.from_estimate(crossed_mean(table), self.settings.adjusted(comparisons))

    def _level(self, family: str, level: float) -> NoiseLevel:
        seeds, comparisons = self.settings.seeds_of(family), len(self.settings.families) * len(self.settings.levels)
        tables = {arm: self._correct(family, arm, level, seeds) for arm in ARMS}
        failed = {arm: [self._failed(family, arm, level, seed) for seed in seeds] for arm in ARMS}
        both, ahead = self._started(family, level), (tables["teacher"] - tables["hard"])[~np.array(failed["hard"])]
        per_seed = {"accuracy": {arm: table.mean(1).tolist() for arm, table in tables.items()}}
        for metric, scale in (("validation", 100), ("epochs", 1)):
            per_seed[metric] = {
                arm: [scale * self.metric(family, arm, metric, level, seed) for seed in seeds] for arm in ARMS
            }
        return NoiseLevel(
            noise=level,
            arms={arm: self._interval(table) for arm, table in tables.items()},
            gap=self._interval(tables["soft"] - tables["hard"], comparisons),
            ahead=self._interval(ahead, comparisons) if len(ahead) >= FEWEST else None,
            failed={arm: share_interval(sum(one), len(seeds), self.settings.confidence) for arm, one in failed.items()},
            started=self._interval(self._gap(family, level, both), comparisons) if len(both) >= FEWEST else None,
            per_seed=per_seed,
        )

    def gaps_where_teacher_learned(self, family: str, level: float) -> np.ndarray:
        """soft − hard in points for every seed whose teacher left chance and every test image: (seeds, images)."""
        seeds = self.settings.seeds_of(family)
        return self._gap(family, level, [seed for seed in seeds if not self._failed(family, "teacher", level, seed)])

    def slopes(self, family: str) -> np.ndarray:
        """Slope of the gap for every seed and test image, in points per 0.1 of noise: (seeds, images)."""
        noise, seeds = np.array(self.settings.levels), self.settings.seeds_of(family)
        centered = noise - noise.mean()
        weights = 0.1 * centered / (centered @ centered)
        gaps = (self._gap(family, level, seeds) for level in self.settings.levels)
        return np.sum([weight * gap for weight, gap in zip(weights, gaps, strict=True)], axis=0)

    def _family(self, name: str) -> NetworkFamily:
        settings, families = self.settings, len(self.settings.families)
        started = [np.isin(settings.seeds_of(name), self._started(name, level)) for level in settings.levels]
        learned = np.all(started, axis=0)
        slopes = self.slopes(name)
        first = self._results[name, settings.levels[0], settings.seed].metrics
        return NetworkFamily(
            name=name,
            levels=[self._level(name, level) for level in settings.levels],
            slope=self._interval(slopes, families),
            learned=int(learned.sum()),
            started=self._interval(slopes[learned], families) if learned.sum() >= FEWEST else None,
            parts={
                kind: self._interval(np.where(own[:, None], slopes, 0.0), families)
                for kind, own in (("at chance", ~learned), ("learned", learned))
            },
            teacher=self._teachers[name],
            parameters={arm: int(first[f"{arm}: parameters"]) for arm in ARMS},
        )
