import {useEffect, useRef} from 'react'

// isTyping reports whether a keystroke goes into a field.
export const isTyping = (e: KeyboardEvent): boolean =>
  e.target instanceof HTMLElement && (e.target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(e.target.tagName))

// isPressed reports whether a keystroke presses the button or the link that has the focus.
const isPressed = (e: KeyboardEvent): boolean =>
  e.key === 'Enter' && e.target instanceof Element && e.target.closest('a[href], button, summary') !== null

export const isMac = /Mac|iPhone|iPad/.test(navigator.userAgent)

// useKeys calls the function of a key, or of two keys in sequence (`g r`). Keys with Control or
// Command are written `mod+k`. Dialogs and fields keep their own keys, and
// Enter presses the button or the link that has the focus.
export function useKeys(keys: Record<string, (e: KeyboardEvent) => void>): void {
  const now = useRef(keys)
  now.current = keys
  useEffect(() => {
    let before = ''
    let timer: ReturnType<typeof setTimeout> | undefined
    const press = (e: KeyboardEvent) => {
      if (e.altKey || e.defaultPrevented) return
      const mod = e.ctrlKey || e.metaKey
      const name = mod ? `mod+${e.key.toLowerCase()}` : e.key
      if (!mod && (isTyping(e) || isPressed(e) || document.querySelector('dialog[open]'))) return
      const f = now.current[`${before} ${name}`] ?? now.current[name]
      clearTimeout(timer)
      before = ''
      if (f) {
        e.preventDefault()
        f(e)
        return
      }
      if (!mod && name.length === 1) {
        before = name
        timer = setTimeout(() => {
          before = ''
        }, 800)
      }
    }
    window.addEventListener('keydown', press)
    return () => {
      window.removeEventListener('keydown', press)
      clearTimeout(timer)
    }
  }, [])
}
