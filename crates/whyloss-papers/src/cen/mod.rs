//! Cen, Cosman and Voelker, *End-to-end differentiation of congestion and wireless losses*, MMCN 2002.

mod channel;
mod network;
#[cfg(test)]
mod ns2;
mod scheme;
