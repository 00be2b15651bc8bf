import {useSyncExternalStore} from 'react'

export type Theme = 'system' | 'light' | 'dark'

const key = 'hocket-theme'
const dark = window.matchMedia('(prefers-color-scheme: dark)')
const listeners = new Set<() => void>()

const read = (): Theme => {
  try {
    const t = localStorage.getItem(key)
    return t === 'light' || t === 'dark' ? t : 'system'
  } catch {
    return 'system'
  }
}

let theme = read()

const shown = (): 'light' | 'dark' => (theme === 'system' ? (dark.matches ? 'dark' : 'light') : theme)

export function applyTheme(): void {
  document.documentElement.dataset.theme = shown()
  for (const f of listeners) f()
}

dark.addEventListener('change', applyTheme)
window.addEventListener('storage', e => {
  if (e.key !== key) return
  theme = read()
  applyTheme()
})

export function setTheme(t: Theme): void {
  theme = t
  try {
    localStorage.setItem(key, t)
  } catch {
    // without storage the choice lasts as long as the page
  }
  applyTheme()
}

const subscribe = (f: () => void) => {
  listeners.add(f)
  return () => listeners.delete(f)
}

export const useTheme = (): Theme => useSyncExternalStore(subscribe, () => theme)
export const useShownTheme = (): 'light' | 'dark' => useSyncExternalStore(subscribe, shown)
