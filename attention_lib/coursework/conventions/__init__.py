"""Brings a student's function back to the book's conventions, so that the library and the doctor can judge it.

Every task says how its function is called under a variant, what comes out in the book's order, and what should.
"""

from attention_lib.coursework.conventions import attention, heads, masks, scores, softmax, window
from attention_lib.coursework.conventions.task import Task

__all__ = ["TASKS", "Task"]

_ROOMS = {
    "scores": scores.TASKS,
    "softmax": softmax.TASKS,
    "attention": attention.TASKS,
    "masks": masks.TASKS,
    "heads": heads.TASKS,
    "window": window.TASKS,
}
TASKS = {(owner, name): task for owner, tasks in _ROOMS.items() for name, task in tasks.items()}
