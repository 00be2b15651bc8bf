import type {RouterOptions} from 'wouter'

// Guard holds a way to another place of the page up, until a person has said that they want it; go leads there. It tells whether it does.
export type Guard = (to: string, go: () => void) => boolean

let guard: Guard | null = null

// guardLeaving sets what is asked before the page leads elsewhere. There is one at a time.
export function guardLeaving(g: Guard): () => void {
  guard = g
  return () => {
    if (guard === g) guard = null
  }
}

// aroundNav asks the guard before each way to another place.
export const aroundNav: NonNullable<RouterOptions['aroundNav']> = (navigate, to, options) => {
  const go = () => navigate(to, options)
  if (!guard?.(to, go)) go()
}
