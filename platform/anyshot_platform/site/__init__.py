"""Pages and the JSON API: parse, authorize, call one function, show."""
