"""What an organizers' action is: its declaration, and how it is carried out."""
