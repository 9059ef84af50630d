package org.example;

public class Main {
  public static void main(String[] words) {
    System.out.println("hello java");
  }
}
