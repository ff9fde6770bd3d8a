"""Pages that need nothing beside themselves: the report of a run, an explanation, notebooks."""
