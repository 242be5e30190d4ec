"""Knowledge sources: places that knowledge bases are kept in step with."""
