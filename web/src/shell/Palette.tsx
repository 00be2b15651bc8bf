import {useQuery} from '@tanstack/react-query'
import {Command} from 'cmdk'
import {useState} from 'react'
import {useLocation} from 'wouter'
import {ask, client} from '../api/client.ts'
import {clean} from '../lib/hostile.ts'
import {Dialog} from '../ui/Dialog.tsx'
import {Status} from '../ui/Status.tsx'
import styles from './Palette.module.css'
import {places} from './places.ts'
import {setTheme, type Theme} from './theme.ts'

// Palette finds pages, workflows and runs by a few letters.
export function Palette({close, help}: {close: () => void; help: () => void}) {
  const [, go] = useLocation()
  const [text, setText] = useState('')
  const runs = useQuery({
    queryKey: ['runs', 'palette', text],
    queryFn: () =>
      ask(
        client.GET('/api/v1/runs', {
          params: {
            query: {limit: 8, ...(/^[0-9A-Z]{4,26}$/.test(text) ? {prefix: text} : text.trim() ? {q: text} : {})},
          },
        }),
      ),
    retry: false,
  })
  const workflows = useQuery({
    queryKey: ['workflows', 'palette'],
    queryFn: () => ask(client.GET('/api/v1/workflows', {params: {query: {limit: 100}}})),
  })
  const to = (path: string) => {
    close()
    go(path)
  }
  const theme = (t: Theme) => {
    setTheme(t)
    close()
  }
  return (
    <Dialog title="Search or go to" close={close} bare>
      <Command label="Search or go to" className={styles.palette} loop>
        <Command.Input value={text} onValueChange={setText} placeholder="Search or go to…" className={styles.input} />
        <Command.List className={styles.list} label="Results">
          <Command.Empty className={styles.none}>No results</Command.Empty>
          <Command.Group heading="Go to" className={styles.group}>
            {places.map(p => (
              <Command.Item key={p.path} value={`go ${p.name}`} onSelect={() => to(p.path)} className={styles.item}>
                <p.icon size={14} aria-hidden />
                {p.name}
                <kbd>{p.keys}</kbd>
              </Command.Item>
            ))}
          </Command.Group>
          {(runs.data?.items ?? []).length > 0 && (
            <Command.Group heading="Runs" className={styles.group}>
              {runs.data?.items?.map(r => (
                <Command.Item
                  key={r.id}
                  value={`run ${r.id} ${text}`}
                  keywords={[r.workflow, r.inputPreview]}
                  onSelect={() => to(`/runs/${r.id}`)}
                  className={styles.item}
                >
                  <Status of={r.status} brief />
                  <span className={styles.what}>
                    {[r.workflowName || r.workflow, r.inputPreview].filter(Boolean).map(clean).join(' · ')}
                  </span>
                  <code>{r.id.slice(-6)}</code>
                </Command.Item>
              ))}
            </Command.Group>
          )}
          {(workflows.data?.items ?? []).length > 0 && (
            <Command.Group heading="Workflows" className={styles.group}>
              {workflows.data?.items?.map(w => (
                <Command.Item
                  key={w.id}
                  value={`workflow ${w.id} ${clean(w.name)}`}
                  onSelect={() => to(`/workflows/${encodeURIComponent(w.id)}`)}
                  className={styles.item}
                >
                  <span className={styles.what}>{clean(w.name || w.id)}</span>
                  <small>{w.format}</small>
                </Command.Item>
              ))}
            </Command.Group>
          )}
          <Command.Group heading="Page" className={styles.group}>
            {(['light', 'dark', 'system'] as const).map(t => (
              <Command.Item key={t} value={`theme ${t}`} onSelect={() => theme(t)} className={styles.item}>
                Theme: {t === 'system' ? 'as the system' : t}
              </Command.Item>
            ))}
            <Command.Item value="keyboard help" onSelect={help} className={styles.item}>
              Keyboard help
              <kbd>?</kbd>
            </Command.Item>
          </Command.Group>
        </Command.List>
      </Command>
    </Dialog>
  )
}
