// own gives the value of a key that an object itself has: keys come from documents and models, and may be names that every object inherits.
export const own = <T>(of: Readonly<Record<string, T>>, key: string): T | undefined =>
  Object.hasOwn(of, key) ? of[key] : undefined
