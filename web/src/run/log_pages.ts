import type {InfiniteData} from '@tanstack/react-query'

// pacer passes on the latest of many numbers, at most once per ms milliseconds; the last one
// immediately.
export function pacer(set: (n: number) => void, ms: number) {
  let timer: ReturnType<typeof setTimeout> | undefined
  let newest = 0
  const stop = () => {
    clearTimeout(timer)
    timer = undefined
  }
  const pass = () => {
    stop()
    set(newest)
  }
  return {
    tell(n: number, last: boolean) {
      newest = n
      if (last) pass()
      else timer ??= setTimeout(pass, ms)
    },
    stop,
  }
}

// inTurn returns a function that calls f, and calls it once more if it was called while f was
// running.
export function inTurn(f: () => Promise<void>): () => void {
  let [busy, again] = [false, false]
  const go = async () => {
    busy = true
    do {
      again = false
      await f()
    } while (again)
    busy = false
  }
  return () => {
    if (busy) again = true
    else void go()
  }
}

// grown returns the pages of a list that grows at its end, with the new items: the last page is
// read again, then those that follow. If there was more to load, nothing is read.
export async function grown<P extends {next?: string | null}>(
  was: InfiniteData<P, string>,
  read: (cursor: string) => Promise<P>,
): Promise<InfiniteData<P, string>> {
  if (was.pages.at(-1)?.next) return was
  const [pages, pageParams] = [was.pages.slice(0, -1), [...was.pageParams]]
  for (;;) {
    const page = await read(pageParams.at(-1)!)
    pages.push(page)
    if (!page.next) return {pages, pageParams}
    pageParams.push(page.next)
  }
}

// Followed is a list that grows on the server.
export type Followed<T> = {
  now: () => T | undefined // the shown list; undefined means that nothing is shown yet
  grow: (was: T) => Promise<T> // returns the same list if nothing is to be read
  put: (now: T) => void
  // failed receives the error of a read, or null after a successful one. It reports whether to
  // retry.
  failed: (error: unknown) => boolean
}

// follower returns follow, which reads the new items of a list. After a read that failed, or during
// which the list was replaced, it reads again after ms milliseconds, because the event that caused
// the read may have been the last one. stop ends this.
export function follower<T>(list: Followed<T>, ms: number): {follow: () => void; stop: () => void} {
  let timer: ReturnType<typeof setTimeout> | undefined
  let left = false
  const later = () => {
    if (!left) timer = setTimeout(follow, ms)
  }
  const ask = inTurn(async () => {
    clearTimeout(timer)
    const was = list.now()
    if (was === undefined) return
    try {
      const now = await list.grow(was)
      if (!left) list.failed(null)
      if (list.now() !== was) later()
      else if (now !== was) list.put(now)
    } catch (error) {
      if (!left && list.failed(error)) later()
    }
  })
  const follow = () => {
    left = false
    ask()
  }
  return {
    follow,
    stop: () => {
      left = true
      clearTimeout(timer)
    },
  }
}
