"""Exercises of chapter 1."""

EXERCISES = {}
