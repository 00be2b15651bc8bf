import {useRef} from 'react'
import {kept} from './kept.ts'

// useKept returns a list that reuses the items of the previous render if they are alike.
export function useKept<T extends {id: string}>(now: readonly T[], alike: (a: T, b: T) => boolean): T[] {
  const was = useRef<readonly T[]>([])
  was.current = kept(was.current, now, alike)
  return was.current as T[]
}
