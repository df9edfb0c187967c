"""How different the tasks of a pool are: Hellinger for Gaussians, Task2Vec for images."""
