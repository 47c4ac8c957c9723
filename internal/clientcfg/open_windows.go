package clientcfg

// noWait is nothing here: no file in a folder is a pipe.
const noWait = 0
