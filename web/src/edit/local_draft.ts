// LocalDraft is a text that was not stored and is kept in the browser. etag is the tag of the
// definition that it changes; without an etag and a version, nothing is stored yet.
export type LocalDraft = {text: string; etag: string; version: number | null; at: string}

const keyOf = (namespace: string, id: string): string => `hocket-draft:${namespace}:${id}`

type Storage = Pick<globalThis.Storage, 'getItem' | 'setItem' | 'removeItem'>

const isDraft = (v: unknown): v is LocalDraft =>
  v !== null &&
  typeof v === 'object' &&
  'text' in v &&
  typeof v.text === 'string' &&
  'etag' in v &&
  typeof v.etag === 'string' &&
  'version' in v &&
  (v.version === null || typeof v.version === 'number') &&
  'at' in v &&
  typeof v.at === 'string' &&
  !Number.isNaN(Date.parse(v.at))

function draftOf(text: string | null): LocalDraft | null {
  try {
    const v: unknown = JSON.parse(text ?? 'null')
    return isDraft(v) ? v : null
  } catch {
    return null
  }
}

// localDrafts keeps drafts in a browser storage, which may reject every access.
export const localDrafts = (namespace: string, id: string, storage: () => Storage = () => localStorage) => {
  const key = keyOf(namespace, id)
  return {
    read(): LocalDraft | null {
      try {
        return draftOf(storage().getItem(key))
      } catch {
        return null
      }
    },
    // keep reports whether the draft was kept: the storage may be full or unavailable.
    keep(d: LocalDraft): boolean {
      try {
        storage().setItem(key, JSON.stringify(d))
        return true
      } catch {
        return false
      }
    },
    drop(): void {
      try {
        storage().removeItem(key)
      } catch {
        // a draft that cannot be removed was not kept either
      }
    },
  }
}

// unstoredIn lists the ids of workflows of which nothing is stored, and whose text the browser keeps.
export function unstoredIn(
  namespace: string,
  storage: () => Pick<globalThis.Storage, 'getItem' | 'key' | 'length'> = () => localStorage,
): string[] {
  const before = keyOf(namespace, '')
  const out: string[] = []
  try {
    const s = storage()
    for (let n = 0; n < s.length; n++) {
      const key = s.key(n) ?? ''
      if (!key.startsWith(before)) continue
      const d = draftOf(s.getItem(key))
      if (d?.etag === '' && d.version === null) out.push(key.slice(before.length))
    }
  } catch {
    return []
  }
  return out.sort()
}

export type LocalDrafts = ReturnType<typeof localDrafts>
