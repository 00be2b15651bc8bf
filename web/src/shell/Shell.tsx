import {CircleHelp, LogOut, Monitor, Moon, Search, Sun} from 'lucide-react'
import {type ReactNode, useState} from 'react'
import {Link, useLocation} from 'wouter'
import {signOut} from '../api/session.ts'
import type {FeedState} from '../live/feed.ts'
import {IconButton} from '../ui/parts.tsx'
import {Line} from '../ui/Text.tsx'
import {Help} from './Help.tsx'
import {isMac, useKeys} from './keys.ts'
import {Mark} from './Mark.tsx'
import {Palette} from './Palette.tsx'
import {isAt, places} from './places.ts'
import styles from './Shell.module.css'
import {useSession} from './session.ts'
import {setTheme, type Theme, useTheme} from './theme.ts'
import {useOpenWaits} from './waits.ts'

const themes: Record<Theme, {next: Theme; icon: typeof Sun; label: string}> = {
  system: {next: 'light', icon: Monitor, label: 'Theme: as the system'},
  light: {next: 'dark', icon: Sun, label: 'Theme: light'},
  dark: {next: 'system', icon: Moon, label: 'Theme: dark'},
}

// Shell is the frame of every page: navigation, palette, keyboard help, theme, signed-in user, and
// connection state.
export function Shell({feed, leave, children}: {feed: FeedState; leave: () => void; children: ReactNode}) {
  const [path, go] = useLocation()
  const [open, setOpen] = useState<'palette' | 'help' | null>(null)
  const session = useSession()
  const theme = useTheme()
  const waits = useOpenWaits(false)
  const look = themes[theme]
  useKeys({
    'mod+k': () => setOpen(o => (o === 'palette' ? null : 'palette')),
    '?': () => setOpen('help'),
    ...Object.fromEntries(places.map(p => [p.keys, () => go(p.path)])),
  })
  const waiting = waits.data?.length ?? 0
  return (
    <div className={styles.shell}>
      <a className={styles.skip} href="#main">
        Skip to content
      </a>
      <nav className={styles.nav} aria-label="Main">
        <Link href="/" className={styles.brand}>
          <Mark />
          <span>Hocket</span>
        </Link>
        <ul className={styles.places}>
          {places.map(p => (
            <li key={p.path}>
              <Link href={p.path} className={styles.place} aria-current={isAt(p.path, path) ? 'page' : undefined}>
                <p.icon size={16} aria-hidden />
                <span>{p.name}</span>
                {p.path === '/inbox' && waiting > 0 && (
                  <span className={styles.badge}>{waiting > 99 ? '99+' : waiting}</span>
                )}
              </Link>
            </li>
          ))}
        </ul>
        <div className={styles.who}>
          <Line>{session.name}</Line>
          <small>
            {session.role}
            {session.approve ? ', may approve' : ''} · {session.version}
          </small>
        </div>
      </nav>
      <header className={styles.top}>
        <Link href="/" className={styles.topBrand} aria-label="Hocket, home">
          <Mark />
        </Link>
        <button type="button" className={styles.search} onClick={() => setOpen('palette')}>
          <Search size={14} aria-hidden />
          <span>Search or go to…</span>
          <kbd>{isMac ? '⌘K' : 'Ctrl K'}</kbd>
        </button>
        <div className={styles.tools}>
          <IconButton label={look.label} onClick={() => setTheme(look.next)}>
            <look.icon size={16} />
          </IconButton>
          <IconButton label="Keyboard help" onClick={() => setOpen('help')}>
            <CircleHelp size={16} />
          </IconButton>
          <IconButton label="Sign out" onClick={() => void signOut().finally(leave)}>
            <LogOut size={16} />
          </IconButton>
        </div>
      </header>
      {feed === 'lost' && (
        <p className={styles.lost} role="status">
          The server does not answer. What is shown stays; it catches up by itself.
        </p>
      )}
      <main id="main" className={styles.main} tabIndex={-1}>
        {children}
      </main>
      {open === 'palette' && <Palette close={() => setOpen(null)} help={() => setOpen('help')} />}
      {open === 'help' && <Help close={() => setOpen(null)} />}
    </div>
  )
}
