// kept replaces items that equal an earlier item with the earlier object, so that they are not
// rendered again. If all items are kept, it returns the earlier list.
export function kept<T extends {id: string}>(
  was: readonly T[],
  now: readonly T[],
  alike: (a: T, b: T) => boolean,
): readonly T[] {
  const before = new Map(was.map(x => [x.id, x]))
  const out = now.map(x => {
    const old = before.get(x.id)
    return old && alike(old, x) ? old : x
  })
  return out.length === was.length && out.every((x, i) => x === was[i]) ? was : out
}
