"""Games in a browser, played by their own kernels as WebAssembly."""
