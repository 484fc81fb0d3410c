"""Parts that stack commands share: the home folder, the embedded engine, template inputs and the live view."""
