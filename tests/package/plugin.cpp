// A plugin that has nothing of its own: it is linked with an archive as a whole.
