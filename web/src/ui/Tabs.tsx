import {type KeyboardEvent, type ReactNode, useRef} from 'react'
import styles from './Tabs.module.css'

export type Tab = {id: string; label: string; count?: number}

// Tabs is a list of tabs, one of which is shown; arrow keys move among them.
export function Tabs({
  tabs,
  at,
  go,
  label,
  children,
}: {
  tabs: Tab[]
  at: string
  go: (id: string) => void
  label: string
  children: ReactNode
}) {
  const list = useRef<HTMLDivElement>(null)
  const move = (e: KeyboardEvent) => {
    const by = {ArrowRight: 1, ArrowLeft: -1}[e.key]
    if (!by) return
    e.preventDefault()
    const next = tabs[(tabs.findIndex(t => t.id === at) + by + tabs.length) % tabs.length]!
    go(next.id)
    list.current?.querySelector<HTMLElement>(`[data-tab="${next.id}"]`)?.focus()
  }
  return (
    <>
      <div className={styles.list} role="tablist" aria-label={label} ref={list} onKeyDown={move} tabIndex={-1}>
        {tabs.map(t => (
          <button
            key={t.id}
            type="button"
            role="tab"
            data-tab={t.id}
            id={`tab-${t.id}`}
            aria-selected={t.id === at}
            aria-controls="panel"
            tabIndex={t.id === at ? 0 : -1}
            className={styles.tab}
            onClick={() => go(t.id)}
          >
            {t.label}
            {t.count ? <span className={styles.count}>{t.count}</span> : null}
          </button>
        ))}
      </div>
      <div role="tabpanel" id="panel" aria-labelledby={`tab-${at}`} className={styles.panel}>
        {children}
      </div>
    </>
  )
}
