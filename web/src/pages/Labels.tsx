import {type FormEvent, useEffect, useRef, useState} from 'react'
import {Link} from 'wouter'
import {clean} from '../lib/hostile.ts'
import {useKeys} from '../shell/keys.ts'
import control from '../ui/control.module.css'
import {Button} from '../ui/parts.tsx'
import styles from './Labels.module.css'

// labelOf formats a label as a selector.
const labelOf = (key: string, value: string): string => `${key}=${value}`

// Labels shows labels, each of which links to the list of everything that has it.
export function Labels({of, to}: {of: Record<string, string>; to: (selector: string) => string}) {
  const all = Object.entries(of).sort(([a], [b]) => (a < b ? -1 : 1))
  if (all.length === 0) return null
  return (
    <div className={styles.labels}>
      {all.map(([key, value]) => (
        <Link key={key} href={to(labelOf(key, value))} className={styles.label}>
          {clean(labelOf(key, value))}
        </Link>
      ))}
    </div>
  )
}

// LabelFilter is the field for label selectors, separated by commas; Enter applies them.
export function LabelFilter({label, set}: {label: string; set: (label: string) => void}) {
  const [text, setText] = useState(label)
  const field = useRef<HTMLInputElement>(null)
  useKeys({'/': () => field.current?.focus()})
  useEffect(() => setText(label), [label])
  const apply = (e: FormEvent) => {
    e.preventDefault()
    set(text.trim())
  }
  return (
    <form className={styles.filter} onSubmit={apply} role="search">
      <label className={styles.field}>
        <span>Labels</span>
        <input
          ref={field}
          className={control.input}
          value={text}
          placeholder="team=news, !archived"
          onChange={e => setText(e.target.value)}
        />
      </label>
      <Button type="submit">Filter</Button>
      {label && <Button onClick={() => set('')}>All workflows</Button>}
    </form>
  )
}
