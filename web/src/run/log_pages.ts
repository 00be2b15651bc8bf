import type {InfiniteData} from '@tanstack/react-query'

// pacer passes on the newest of many numbers, at most once in ms; the last one at once.
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

// inTurn gives a function that calls f, and once more when it is called while f is busy.
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

// grown gives pages of a list that grows at its end, with what has come since: the last one is read again, and those that follow. Where there was more to load nothing is read.
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
