import type {RouterOptions} from 'wouter'

// Guard delays a navigation within the page until the user has confirmed it; go performs it. It
// reports whether it delays the navigation.
export type Guard = (to: string, go: () => void) => boolean

let guard: Guard | null = null

// guardLeaving sets the guard that is called before the page navigates. There is one at a time.
export function guardLeaving(g: Guard): () => void {
  guard = g
  return () => {
    if (guard === g) guard = null
  }
}

// aroundNav calls the guard before each navigation.
export const aroundNav: NonNullable<RouterOptions['aroundNav']> = (navigate, to, options) => {
  const go = () => navigate(to, options)
  if (!guard?.(to, go)) go()
}
