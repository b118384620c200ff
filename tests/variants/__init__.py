"""Tests over the registry of variants."""
