import {X} from 'lucide-react'
import {type ReactNode, useEffect, useId, useRef} from 'react'
import styles from './Dialog.module.css'
import {IconButton} from './parts.tsx'

// Dialog is the browser's own dialog: it traps the focus, closes on Escape and restores the focus.
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
  useEffect(() => {
    const d = ref.current
    d?.showModal()
    return () => d?.close()
  }, [])
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Escape closes it
    <dialog
      ref={ref}
      className={bare ? styles.bare : styles.dialog}
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
