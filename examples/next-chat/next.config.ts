import type { NextConfig } from "next";

const config: NextConfig = {
  poweredByHeader: false,
  // The folder itself, wherever it was copied to.
  turbopack: { root: import.meta.dirname },
};

export default config;
