"""What graders share: base class, checks, the graded session, statistics and replay."""

from graders.kit.base import AnswerModel, Grader, JobId
from graders.kit.checks import Category, Check, Outcome, Score, Stage, Verdict, above, below, holds
from graders.kit.session import AnsweredQuery, GradedSession, Job

__all__ = [
    "AnswerModel", "AnsweredQuery", "Category", "Check", "GradedSession", "Grader", "Job", "JobId", "Outcome", "Score", "Stage", "Verdict",
    "above", "below", "holds",
]  # fmt: skip
