"""Modules under the names that programs import them by."""
