import { QueryClient, QueryClientProvider } from '@tanstack/react-query';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { ApiError } from './api.ts';
import { Router } from './router.tsx';
import { preload } from './routing.tsx';
import { applyTheme } from './theme.ts';
import './styles.css';

applyTheme();

const client = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 10_000,
      retry: (failures, error) => failures < 2 && error instanceof ApiError && error.undecided,
    },
  },
});
// Its file loads while the session is read.
preload(location.pathname);
const root = document.querySelector('#root');
if (root) {
  createRoot(root).render(
    <StrictMode>
      <QueryClientProvider client={client}>
        <Router />
      </QueryClientProvider>
    </StrictMode>,
  );
}
