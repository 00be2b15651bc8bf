import {X} from 'lucide-react'
import {type ReactNode, useId, useLayoutEffect, useRef} from 'react'
import styles from './Dialog.module.css'
import {IconButton} from './parts.tsx'

// firstOf returns what a user types or chooses first in a dialog: what is marked with data-first, or
// else the first field.
const firstOf = (d: HTMLDialogElement): HTMLElement | null =>
  d.querySelector('[data-first]') ?? d.querySelector(':is(input, select, textarea):enabled')

// Dialog is the browser's own dialog: it traps the focus and closes on Escape. The focus is on what a
// user types or chooses first. A dialog without such an element has the focus itself, so that Enter
// does nothing and the arrows scroll it. When the dialog closes, the focus returns to where it was,
// or to the page if that element is gone.
export function Dialog({
  title,
  close,
  children,
  bare = false,
}: {
  title: string
  close: () => void
  children: ReactNode
  bare?: boolean
}) {
  const ref = useRef<HTMLDialogElement>(null)
  const id = useId()
  useLayoutEffect(() => {
    const d = ref.current!
    const before = document.activeElement as HTMLElement | null
    d.showModal() // moves the focus to the first button
    const begin = () => (firstOf(d) ?? d).focus()
    begin()
    // What is loaded later takes the focus if the user has not moved it.
    const loads = new MutationObserver(() => document.activeElement === d && begin())
    loads.observe(d, {childList: true, subtree: true})
    return () => {
      loads.disconnect()
      d.close() // returns the focus, but not the cursor of a field
      before?.blur()
      before?.focus({preventScroll: true})
      requestAnimationFrame(
        () => document.activeElement === document.body && document.getElementById('main')?.focus({preventScroll: true}),
      )
    }
  }, [])
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Escape closes it
    <dialog
      ref={ref}
      className={bare ? styles.bare : styles.dialog}
      tabIndex={-1}
      aria-labelledby={id}
      onCancel={e => {
        e.preventDefault()
        close()
      }}
      onClick={e => e.target === ref.current && close()}
    >
      <div className={styles.inside}>
        <header className={bare ? 'hidden' : styles.head}>
          <h2 id={id}>{title}</h2>
          <IconButton label="Close" onClick={close}>
            <X size={16} />
          </IconButton>
        </header>
        {children}
      </div>
    </dialog>
  )
}
