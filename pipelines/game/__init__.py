"""A mobile game in which teams pop bubbles: the story that the books tell, and that the demo runs by itself."""
