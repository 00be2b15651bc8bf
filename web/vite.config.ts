import react from '@vitejs/plugin-react'
import {defineConfig} from 'vite'

// The chunks that change rarely have names of their own, and no name has a hash: dist is committed, and the server tags files by their content.
const chunkOf = (id: string): string | undefined => {
  if (/node_modules\/(@xyflow|d3-|zustand|classcat)/.test(id)) return 'flow'
  if (/node_modules\/(@codemirror|@lezer|@marijn|crelt|style-mod|w3c-keyname)/.test(id)) return 'code'
  if (/node_modules\/jsonc-parser\//.test(id)) return 'text'
  if (id.includes('node_modules')) return 'vendor'
  if (/\/src\/(api|lib|live|shell|ui)\//.test(id)) return 'shell'
  return undefined
}

export default defineConfig({
  base: './',
  plugins: [react()],
  build: {
    outDir: 'dist',
    emptyOutDir: true,
    sourcemap: false,
    assetsInlineLimit: 0,
    modulePreload: {polyfill: false},
    chunkSizeWarningLimit: 800,
    rolldownOptions: {
      output: {
        entryFileNames: 'assets/[name].js',
        chunkFileNames: 'assets/[name].js',
        assetFileNames: 'assets/[name][extname]',
        codeSplitting: {
          // A group takes along what its modules need: what all share goes to vendor first, so that the first view does without the other groups.
          groups: [
            {name: 'flow', test: id => chunkOf(id) === 'flow'},
            {name: 'code', test: id => chunkOf(id) === 'code'},
            {name: 'text', test: id => chunkOf(id) === 'text'},
            {name: 'shell', test: id => chunkOf(id) === 'shell'}, // one file packs better than thirty small ones
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
