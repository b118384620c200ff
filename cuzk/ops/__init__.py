"""The host side of one operation each: checks, a pure plan, launches.  Import the module of the operation."""
