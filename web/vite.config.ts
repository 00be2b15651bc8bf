import {createHash} from 'node:crypto'
import {relative} from 'node:path'
import react from '@vitejs/plugin-react'
import {defineConfig, type Plugin} from 'vite'

// Chunks that change rarely have their own names, and no name has a hash: dist is committed, and
// the server tags files by their content.
const small =
  // modules that several pages share
  new RegExp(
    String.raw`/src/(run/(TestBadge|Awaited|definition)|canvas/(new_canvas|TestRun\.module)` +
      String.raw`|edit/(stored|local_draft|check)|wait/words)\.`,
  )
const chunkOf = (id: string): string | undefined => {
  if (/node_modules\/(@xyflow|d3-|zustand|classcat)/.test(id)) return 'flow'
  if (/node_modules\/(@codemirror|@lezer|@marijn|crelt|style-mod|w3c-keyname)/.test(id)) return 'code'
  if (/node_modules\/jsonc-parser\//.test(id)) return 'text'
  if (id.includes('node_modules')) return 'vendor'
  if (/\/src\/(api|lib|live|shell|ui)\//.test(id) || small.test(id)) return 'shell'
  return undefined
}

// early makes a browser load the application together with the script that imports it, and not
// after it.
const early = (): Plugin => ({
  name: 'early',
  apply: 'build',
  transformIndexHtml: {
    order: 'post',
    handler(html, {bundle}) {
      const chunks = Object.values(bundle ?? {}).filter(f => f.type === 'chunk')
      const first = chunks.find(c => c.facadeModuleId?.endsWith('/src/start.tsx'))
      if (!first) throw new Error('no chunk of src/start.tsx is built')
      const needed = new Set([first])
      for (const c of needed) for (const name of c.imports) needed.add(chunks.find(x => x.fileName === name)!)
      const styles = new Set([...needed].flatMap(c => [...(c.viteMetadata?.importedCss ?? [])]))
      return [
        ...[...needed].map(c => ({rel: 'modulepreload', href: `./${c.fileName}`})),
        ...[...styles].map(f => ({rel: 'stylesheet', href: `./${f}`})),
      ].flatMap(({rel, href}) =>
        html.includes(`"${href}"`)
          ? []
          : [{tag: 'link', attrs: {rel, crossorigin: true, href}, injectTo: 'head' as const}],
      )
    },
  },
})

// classOf derives class names only from their position in the source: the names of one file have
// the same suffix, which compresses better than a number for each.
const places = new Map<string, string>()
const classOf = (name: string, file: string): string => {
  const place = relative(import.meta.dirname, file.split('?')[0]!).replaceAll('\\', '/')
  const end = createHash('sha256').update(place).digest('base64url').slice(0, 3)
  const other = places.get(end)
  if (other !== undefined && other !== place)
    throw new Error(`classes of ${place} and ${other} have the same names: make their ends longer`)
  places.set(end, place)
  return `${name}_${end}`
}

export default defineConfig({
  base: './',
  plugins: [react(), early()],
  css: {modules: {generateScopedName: classOf}},
  build: {
    outDir: 'dist',
    emptyOutDir: true,
    sourcemap: false,
    assetsInlineLimit: 0,
    modulePreload: {polyfill: false},
    chunkSizeWarningLimit: 800,
    rolldownOptions: {
      // Unused results of these functions, such as the map of the drawing, are removed from
      // libraries.
      treeshake: {manualPureFunctions: ['memo', 'forwardRef', 'createContext']},
      output: {
        entryFileNames: 'assets/[name].js',
        chunkFileNames: 'assets/[name].js',
        assetFileNames: 'assets/[name][extname]',
        codeSplitting: {
          // A group includes the dependencies of its modules: shared modules go to vendor first, so
          // that the first view does not need the other groups.
          groups: [
            {name: 'flow', test: id => chunkOf(id) === 'flow'},
            {name: 'code', test: id => chunkOf(id) === 'code'},
            {name: 'text', test: id => chunkOf(id) === 'text'},
            {name: 'shell', test: id => chunkOf(id) === 'shell'}, // one file compresses better than thirty small ones
            {name: 'vendor', test: id => chunkOf(id) === 'vendor', priority: 1},
          ],
        },
      },
    },
  },
  server: {
    port: 5173,
    strictPort: true,
    proxy: {'/api': {target: process.env.HOCKET ?? 'http://127.0.0.1:7788'}},
  },
})
