import {useRef} from 'react'
import {kept} from './kept.ts'

// useKept gives a list with the items of the render before where they are alike.
export function useKept<T extends {id: string}>(now: readonly T[], alike: (a: T, b: T) => boolean): T[] {
  const was = useRef<readonly T[]>([])
  was.current = kept(was.current, now, alike)
  return was.current as T[]
}
