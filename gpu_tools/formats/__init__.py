"""Files to arrays and back; no algorithm lives here."""
