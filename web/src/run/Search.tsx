import {ChevronDown, ChevronUp} from 'lucide-react'
import {useDeferredValue, useEffect, useMemo, useRef, useState} from 'react'
import type {LiveRun} from '../live/run_source.ts'
import {useKeys} from '../shell/keys.ts'
import control from '../ui/control.module.css'
import {IconButton} from '../ui/parts.tsx'
import {Line} from '../ui/Text.tsx'
import type {Place} from './place.ts'
import styles from './Search.module.css'
import {find, most, searchedOf} from './search.ts'

// listed is the number of hits that are listed at a time, around the open one.
const listed = 8

// Search finds a string in the whole run: `/` starts it, and Enter and Shift+Enter, or `n` and `N`,
// move to the next and the previous hit.
export function Search({live, place}: {live: LiveRun; place: Place}) {
  const field = useRef<HTMLInputElement>(null)
  const [text, setText] = useState(place.q)
  const [at, setAt] = useState(-1)
  const late = useDeferredValue(text)
  const looked = late.trim() !== ''
  const values = useMemo(
    () => (looked ? searchedOf(live.view.steps, live.events) : []),
    [looked, live.view.steps, live.events],
  )
  const hits = useMemo(() => find(values, late), [values, late])
  const set = place.set
  // biome-ignore lint/correctness/useExhaustiveDependencies: the address follows the text alone
  useEffect(() => {
    const timer = setTimeout(() => late !== place.q && set({q: late || null}), 300)
    return () => clearTimeout(timer)
  }, [late])
  const go = (to: number) => {
    if (hits.length === 0) return
    const next = (to + hits.length) % hits.length
    setAt(next)
    const hit = hits[next]!
    place.set({
      step: hit.step,
      q: text || null,
      ...(place.tab === 'graph' || place.tab === 'timeline' || place.tab === 'steps' ? {} : {tab: 'steps'}),
    })
  }
  useKeys({'/': () => field.current?.focus(), n: () => go(at + 1), N: () => go(at - 1)})
  const from = Math.max(0, Math.min(at - 3, hits.length - listed))
  const open = text.trim() !== ''
  return (
    <search className={styles.search}>
      <div className={styles.row}>
        <input
          ref={field}
          type="search"
          className={control.input}
          aria-label="Search in the run"
          placeholder="Search in the run"
          value={text}
          onChange={e => {
            setText(e.target.value)
            setAt(-1)
          }}
          onKeyDown={e => {
            if (e.key === 'Enter') {
              e.preventDefault()
              go(e.shiftKey ? at - 1 : at + 1)
            } else if (e.key === 'Escape') {
              setText('')
              field.current?.blur()
            }
          }}
        />
        {open && (
          <>
            <span className={styles.count} role="status">
              {hits.length === 0
                ? 'nothing found'
                : `${at < 0 ? '' : `${at + 1} of `}${hits.length}${hits.length >= most ? ' or more' : ''}`}
            </span>
            <IconButton label="Previous hit" disabled={hits.length === 0} onClick={() => go(at - 1)}>
              <ChevronUp size={14} />
            </IconButton>
            <IconButton label="Next hit" disabled={hits.length === 0} onClick={() => go(at + 1)}>
              <ChevronDown size={14} />
            </IconButton>
          </>
        )}
      </div>
      {open && hits.length > 0 && (
        <ol className={styles.hits} aria-label="Hits">
          {hits.slice(from, from + listed).map((h, i) => (
            <li key={from + i}>
              <button type="button" aria-current={from + i === at || undefined} onClick={() => go(from + i)}>
                <span className={styles.where}>
                  <Line>{`${h.name} · ${h.where}`}</Line>
                </span>
                <span className={styles.text}>
                  <Line>{h.before.slice(-24)}</Line>
                  <mark>
                    <Line>{h.found}</Line>
                  </mark>
                  <Line>{h.after}</Line>
                </span>
              </button>
            </li>
          ))}
        </ol>
      )}
    </search>
  )
}
