"""Questions about indices in the language of the solver z3, and its answers: all of it is here."""
