// own returns the value of an object's own key: keys come from documents and models, and may be
// names that every object inherits.
export const own = <T>(of: Readonly<Record<string, T>>, key: string): T | undefined =>
  Object.hasOwn(of, key) ? of[key] : undefined
